// The table of a loader's options. Python's keywords with their types, defaults, checks and help, the flags of the
// command, and docs/reference/options.md are made from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <base/options/option_entry.hpp>
#include <penstock/options.hpp>

namespace penstock {

/// Which APIs have an option.
enum class Door : std::uint8_t { both, cpp, python };

/// One option. Its name is the path of the member of LoaderOptions, and of Python's keyword: "batch_size", or
/// "read_options.engine" for a member of a nested struct, which Python has as an object.
struct LoaderOption : OptionEntry<LoaderOptions> {
  std::string_view change;  ///< when to give another value than the default
  Door door = Door::both;
};

/// The options that Python has in one object, in their order; "" stands for Loader itself.
std::vector<const LoaderOption*> options_of_python(std::string_view object);

/// In the order in which people meet them.
std::span<const LoaderOption> loader_options();
const LoaderOption& loader_option(std::string_view name);  ///< of those that exist

PythonValue python_value(const LoaderOption& option);

/// The flag of the command that sets an option: "--engine" of "read_options.engine". The first option of a cache has
/// the cache's name, and the others begin with it: "--cache", "--cache-limit", "--disk-cache".
std::string flag_of(const LoaderOption& option);

/// Help for Python: an entry for each option, "batch_size: ...", in lines of at most 92 characters. Loader's options
/// are under headings, each with the first sentence of its meaning.
std::string options_for_python(std::string_view object);

}  // namespace penstock
