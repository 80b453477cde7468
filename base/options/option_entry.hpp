// One option in a table of options: the place of its value in a struct, its name and its meaning. Such tables define
// Python's keywords with their checks and help, the flags of the command, and the reference pages.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <base/numbers/decimal.hpp>

namespace penstock {

/// An option of the struct `Options`. A table derives from it to add its own columns.
template <typename Options>
struct OptionEntry {
  /// A member of the struct, or of a struct in it.
  template <typename Value>
  using Place = Value& (*)(Options& options);
  struct Bytes {
    Place<std::uint64_t> place;
  };
  /// An option whose values are words, such as those of an enum.
  struct Words {
    std::string_view (*get)(const Options& options);
    bool (*set)(Options& options, std::string_view word);  ///< false: it is none of `known`
    std::vector<std::string_view> (*known)();
  };
  /// An option that a function parses, such as "quality:90".
  struct Text {
    std::string (*get)(const Options& options);
    void (*set)(Options& options, std::string_view text);  ///< throws Error: invalid_argument
    std::string_view bare = {};  ///< text for True and for a flag without a value; empty: neither is allowed
  };
  /// An option that each API reads with its own code. Has the annotation and the default of Python's signature.
  struct ByHand {
    std::string_view type, value;
  };
  using Member = std::variant<std::monostate, Place<bool>, Place<unsigned>, Place<std::uint64_t>, Place<std::int64_t>,
                              Place<double>, Place<std::string>, Place<std::filesystem::path>,
                              Place<std::optional<std::uint64_t>>, Place<std::vector<std::string>>,
                              Place<std::optional<std::vector<std::uint64_t>>>, Bytes, Words, Text, ByHand>;

  std::string_view group;    ///< heading on the page, equal for adjacent options
  std::string_view name;     ///< "batch_size", or "read_options.engine" for a member of a nested struct
  Member member;             ///< place of its value; nothing for options of C++ only
  std::string_view meaning;  ///< sentences; the first one fits a line of help

  /// "read_options" of "read_options.engine"; empty for a member of the struct itself.
  std::string_view object() const { return name.substr(0, name.find('.') == name.npos ? 0 : name.find('.')); }
  std::string_view keyword() const { return name.substr(name.find('.') + 1); }  ///< "engine"
};

namespace option {

template <typename Value, typename Options>
std::type_identity<Options> owner_of(Value Options::*);
template <auto... Path>
auto& follow(auto& options) {
  return (options.*....*Path);
}

/// The place of the member that a path of members leads to: in<&LoaderOptions::cache, &CacheOptions::limit>().
template <auto First, auto... Rest>
constexpr auto in() {
  using Options = typename decltype(owner_of(First))::type;
  using Value = std::remove_reference_t<decltype(follow<First, Rest...>(std::declval<Options&>()))>;
  return typename OptionEntry<Options>::template Place<Value>(
      [](Options& options) -> Value& { return follow<First, Rest...>(options); });
}

/// The values of an enum, by their name(): Words<&LoaderOptions::last_batch>::of<Last::keep, Last::drop>().
template <auto First, auto... Rest>
struct Words {
  using Options = typename decltype(owner_of(First))::type;
  template <auto... Values>
  static constexpr typename OptionEntry<Options>::Words of() {
    return {.get = [](const Options& options) { return name(follow<First, Rest...>(options)); },
            .set =
                [](Options& options, std::string_view word) {
                  return ((name(Values) == word && (follow<First, Rest...>(options) = Values, true)) || ...);
                },
            .known = [] { return std::vector<std::string_view>{name(Values)...}; }};
  }
};

}  // namespace option

/// The words of an option, without "none": "raise", "replace" or "mark", in quotes.
std::string words_text(std::vector<std::string_view> known);
std::string_view first_sentence(std::string_view text);
/// "--max-side" of "max_side".
std::string flag_of_keyword(std::string_view keyword);
/// Text in lines of at most `width` characters; all but the first begin with `indent`.
std::string lines_of(std::string_view text, std::size_t width, std::string_view indent);
/// An entry of Python's help, "batch_size: ...", in lines of at most 92 characters.
std::string help_entry(std::string_view keyword, std::string_view meaning);

/// The meaning of an option. Its words replace "{words}" in the table.
template <typename Options>
std::string meaning_of(const OptionEntry<Options>& option) {
  std::string text(option.meaning);
  if (const std::size_t at = text.find("{words}"); at != text.npos)
    text.replace(at, 7, words_text(std::get<typename OptionEntry<Options>::Words>(option.member).known()));
  return text;
}

/// The annotation of an option in Python's signature, and its default there.
struct PythonValue {
  std::string type, value;
};

/// Makes the PythonValue of an option's member.
template <typename Options>
struct InPython {
  using Entry = OptionEntry<Options>;
  template <typename Value>
  using Place = typename Entry::template Place<Value>;

  PythonValue operator()(std::monostate) const { return {}; }
  PythonValue operator()(Place<bool> place) { return {"bool", place(defaults) ? "True" : "False"}; }
  PythonValue operator()(Place<double> place) {
    const std::string text = shortest_decimal(place(defaults));
    return {"float", text.find('.') == std::string::npos ? text + ".0" : text};
  }
  PythonValue operator()(Place<std::string>) const { return {"str | None", "None"}; }
  PythonValue operator()(Place<std::filesystem::path>) const { return {"str | os.PathLike | None", "None"}; }
  PythonValue operator()(Place<std::optional<std::uint64_t>>) const { return {"int | None", "None"}; }
  PythonValue operator()(Place<std::vector<std::string>>) const {
    return {"collections.abc.Sequence[str] | None", "None"};
  }
  PythonValue operator()(Place<std::optional<std::vector<std::uint64_t>>>) const {
    return {"collections.abc.Sequence[int] | None", "None"};
  }
  template <std::integral Number>
  PythonValue operator()(Place<Number> place) {
    return {"int", std::to_string(place(defaults))};
  }
  PythonValue operator()(typename Entry::Bytes bytes) { return {"int | str", std::to_string(bytes.place(defaults))}; }
  PythonValue operator()(const typename Entry::Words& words) const {
    const std::string word(words.get(defaults));
    return word == "none" ? PythonValue{"str | None", "None"} : PythonValue{"str", "'" + word + "'"};
  }
  PythonValue operator()(const typename Entry::Text& text) const {
    return text.bare.empty() ? PythonValue{"str", "'" + text.get(defaults) + "'"}
                             : PythonValue{"int | str | bool | None", "None"};
  }
  PythonValue operator()(const typename Entry::ByHand& own) const {
    return {std::string(own.type), std::string(own.value)};
  }

  Options defaults = {};
};

/// Options as keywords of a signature: "batch_size: int = 64, ...". Each table has a python_value() for its entries,
/// because the defaults belong to the library that has the table.
template <typename Entry>
std::string keywords_for_python(const std::vector<const Entry*>& options) {
  std::string text;
  for (const Entry* option : options) {
    const auto [type, value] = python_value(*option);
    text += (text.empty() ? "" : ", ") + std::string(option->keyword()) + ": " + type + " = " + value;
  }
  return text;
}

}  // namespace penstock
