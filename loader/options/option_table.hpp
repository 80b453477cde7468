// The table of a loader's options. It generates Python's keywords with their types, defaults, checks and help, the
// flags of the command, and docs/reference/options.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <base/options/option_entry.hpp>
#include <penstock/options.hpp>

namespace penstock {

/// The APIs that have an option.
enum class Door : std::uint8_t { both, cpp, python };

/// One option. Its name is the path of the member of LoaderOptions, and also Python's keyword: "batch_size". A member
/// of a nested struct has a name such as "read_options.engine"; in Python, the struct is an object.
struct LoaderOption : OptionEntry<LoaderOptions> {
  std::string_view change;  ///< when to change the default
  Door door = Door::both;
};

/// Returns the options that Python has in one object, in their order. "" is Loader itself.
std::vector<const LoaderOption*> options_of_python(std::string_view object);

/// Returns the options in the order in which users meet them.
std::span<const LoaderOption> loader_options();
const LoaderOption& loader_option(std::string_view name);  ///< must exist

PythonValue python_value(const LoaderOption& option);

/// Returns the command's flag for an option: "--engine" for "read_options.engine". The flag of a cache's first option
/// is the cache's name, and the other flags begin with it: "--cache", "--cache-limit", "--disk-cache".
std::string flag_of(const LoaderOption& option);

/// Returns help for Python: an entry for each option, "batch_size: ...", in lines of at most 92 characters. Loader's
/// options are grouped under headings, each with the first sentence of its meaning.
std::string options_for_python(std::string_view object);

}  // namespace penstock
