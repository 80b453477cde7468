// What users are told of a loader's options: help in Python and the page docs/reference/options.md are made from this
// table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// Which doors have an option.
enum class Door : std::uint8_t { both, cpp, python };

/// One option, under the name that it has in Python and in LoaderOptions. Types and defaults stand where the doors
/// declare them.
struct OptionEntry {
  std::string_view group;    ///< heading of the page, alike for neighbours
  std::string_view name;     ///< "batch_size"
  std::string_view meaning;  ///< sentences
  std::string_view change;   ///< when to give another value than the default
  Door door = Door::both;
};

/// In the order in which people meet them.
std::span<const OptionEntry> loader_options();

/// Help for Python: an entry for each option that Python has, "batch_size: ...", in lines of at most 110 characters.
std::string options_for_python();

}  // namespace penstock
