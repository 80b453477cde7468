// The table of a loader's options. Python's keywords with their types, defaults, checks and help, the flags of the
// command, and docs/reference/options.md are made from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <penstock/options.hpp>

namespace penstock {

/// Which APIs have an option.
enum class Door : std::uint8_t { both, cpp, python };

/// One option, under the name that it has in LoaderOptions.
struct OptionEntry {
  struct Bytes {
    std::uint64_t LoaderOptions::*member;
  };
  /// An option whose values are words: those of an enum.
  struct Words {
    std::string_view (*get)(const LoaderOptions& options);
    bool (*set)(LoaderOptions& options, std::string_view word);  ///< false: it is none of `known`
    std::vector<std::string_view> (*known)();
  };
  /// An option that Python reads by code of its own, with the annotation and the default of its signature.
  struct ByHand {
    std::string_view type, value;
  };
  using Member =
      std::variant<std::monostate, bool LoaderOptions::*, unsigned LoaderOptions::*, std::uint64_t LoaderOptions::*,
                   double LoaderOptions::*, std::string LoaderOptions::*, std::filesystem::path LoaderOptions::*,
                   std::optional<std::uint64_t> LoaderOptions::*, std::vector<std::string> LoaderOptions::*,
                   std::optional<std::vector<std::uint64_t>> LoaderOptions::*, Bytes, Words, ByHand>;

  std::string_view group;    ///< heading of the page, alike for neighbours
  std::string_view name;     ///< "batch_size"
  Member member;             ///< where its value is; nothing for those of C++ alone
  std::string_view meaning;  ///< sentences
  std::string_view change;   ///< when to give another value than the default
  Door door = Door::both;
  /// Where Python has it: "world_size", a keyword of Loader; "read_options.engine", a keyword of the object that is
  /// given as read_options. Empty: a keyword of the same name.
  std::string_view python = {};
};

struct PythonPlace {
  std::string_view object;   ///< "read_options"; empty for a keyword of Loader itself
  std::string_view keyword;  ///< empty for an option that Python does not have
};
PythonPlace python_place(const OptionEntry& option);
/// Those that one object has, in their order; "" stands for Loader itself.
std::vector<const OptionEntry*> options_of_python(std::string_view object);

/// In the order in which people meet them.
std::span<const OptionEntry> loader_options();
const OptionEntry& loader_option(std::string_view name);  ///< of those that exist

/// The words of an option, without "none": "raise", "replace" or "mark", in quotes.
std::string words_text(const OptionEntry::Words& words);

/// The annotation of an option in Python's signature, and its default there.
struct PythonValue {
  std::string type, value;
};
PythonValue python_value(const OptionEntry& option);  ///< of one that Python has

/// The keywords of Loader, or of one of its objects, as they stand in a signature: "batch_size: int = 64, ...".
std::string keywords_for_python(std::string_view object);
/// Help for Python: an entry for each of them, "batch_size: ...", in lines of at most 92 characters. Those of Loader
/// stand under headings.
std::string options_for_python(std::string_view object);

}  // namespace penstock
