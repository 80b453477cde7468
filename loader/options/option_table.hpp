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

/// One option. Its name is the path of the member of LoaderOptions, and of Python's keyword: "batch_size", or
/// "read_options.engine" for a member of a nested struct, which Python has as an object.
struct OptionEntry {
  /// A member of LoaderOptions, or of a struct in it.
  template <typename Value>
  using Place = Value& (*)(LoaderOptions& options);
  struct Bytes {
    Place<std::uint64_t> place;
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
  using Member = std::variant<std::monostate, Place<bool>, Place<unsigned>, Place<std::uint64_t>, Place<double>,
                              Place<std::string>, Place<std::filesystem::path>, Place<std::optional<std::uint64_t>>,
                              Place<std::vector<std::string>>, Place<std::optional<std::vector<std::uint64_t>>>, Bytes,
                              Words, ByHand>;

  std::string_view group;    ///< heading of the page, alike for neighbours
  std::string_view name;     ///< "batch_size"
  Member member;             ///< where its value is; nothing for those of C++ alone
  std::string_view meaning;  ///< sentences, of which the first fits a line of Python's help
  std::string_view change;   ///< when to give another value than the default
  Door door = Door::both;

  /// "read_options" of "read_options.engine"; empty for a member of LoaderOptions itself.
  std::string_view object() const { return name.substr(0, name.find('.') == name.npos ? 0 : name.find('.')); }
  std::string_view keyword() const { return name.substr(name.find('.') + 1); }  ///< "engine"
};

/// The options that Python has in one object, in their order; "" stands for Loader itself.
std::vector<const OptionEntry*> options_of_python(std::string_view object);

/// In the order in which people meet them.
std::span<const OptionEntry> loader_options();
const OptionEntry& loader_option(std::string_view name);  ///< of those that exist

/// The words of an option, without "none": "raise", "replace" or "mark", in quotes.
std::string words_text(const OptionEntry::Words& words);

std::string_view first_sentence(std::string_view text);
/// The flag of the command that sets an option: "--engine" of "read_options.engine". The first option of a cache has the
/// cache's name, and the others begin with it: "--cache", "--cache-limit", "--disk-cache".
std::string flag_of(const OptionEntry& option);

/// The annotation of an option in Python's signature, and its default there.
struct PythonValue {
  std::string type, value;
};
PythonValue python_value(const OptionEntry& option);  ///< of one that Python has

/// The keywords of Loader, or of one of its objects, as they stand in a signature: "batch_size: int = 64, ...".
std::string keywords_for_python(std::string_view object);
/// Help for Python: an entry for each option, "batch_size: ...", in lines of at most 92 characters. Loader's options
/// are under headings, each with the first sentence of its meaning.
std::string options_for_python(std::string_view object);

}  // namespace penstock
