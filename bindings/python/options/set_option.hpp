// Sets an option to a Python value, by its entry in a table of options.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <nanobind/nanobind.h>

#include <base/amounts.hpp>
#include <base/options/option_entry.hpp>
#include <base/printable.hpp>
#include <penstock/error.hpp>

namespace penstock::python {

/// Throws TypeError; penstock._words replaces its text by a sentence.
[[noreturn]] void misfit();
/// Throws Error: invalid_argument, for an unknown word of an option; `known` lists the valid words.
[[noreturn]] void refuse_word(const std::string& option, const std::string& given, const std::string& known);

template <typename Options>
struct OptionSetter {
  using Entry = OptionEntry<Options>;
  Options& options;
  const Entry& option;
  nanobind::handle given;

  void operator()(std::monostate) const {}
  void operator()(const typename Entry::ByHand& own) const {
    std::uint64_t number = 0;
    if (own.type == "int | None" && !nanobind::try_cast(given, number)) misfit();
  }
  void operator()(typename Entry::Bytes bytes) const {
    std::string text;
    if (!nanobind::try_cast(given, text)) return (*this)(bytes.place);
    bytes.place(options) = parse_size(text, std::string(option.keyword()));
  }
  void operator()(const typename Entry::Words& words) const {
    std::string word;
    if (!nanobind::try_cast(given, word)) misfit();
    if (!words.set(options, word)) refuse_word(std::string(option.keyword()), word, words_text(words.known()));
  }
  void operator()(const typename Entry::Text& text) const {
    std::string value;
    if (text.bare.empty()) {
      if (!nanobind::try_cast(given, value)) misfit();
    } else {
      if (given.ptr() == Py_False) return;
      value = given.ptr() == Py_True ? text.bare : nanobind::cast<std::string>(nanobind::str(given));
      if (value.empty())
        throw Error::invalid_argument(std::string(option.keyword()) + " cannot be empty; True stands for " +
                                      double_quoted(text.bare));
    }
    text.set(options, value);
  }
  template <typename Value>
  void operator()(typename Entry::template Place<Value> place) const {
    if (!nanobind::try_cast(given, place(options))) misfit();
  }
};

/// Sets an option to a value that is not None. Throws TypeError for a value of another type; Error: invalid_argument,
/// for an unknown word or size. Does nothing for options that need custom code.
template <typename Options>
void set_option(Options& options, const OptionEntry<Options>& option, nanobind::handle given) {
  std::visit(OptionSetter<Options>{options, option, given}, option.member);
}

/// Whether a keyword may be None.
inline bool takes_none(const PythonValue& value) {
  return value.type.ends_with("None");
}

}  // namespace penstock::python
