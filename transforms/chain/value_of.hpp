// Defines for each type of parameter how an argument is read, printed and checked, and its type in Python.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/geometry.hpp>
#include <penstock/schema.hpp>
#include <penstock/step.hpp>
#include <transforms/chain/step_table.hpp>

namespace penstock {

/// Value of Size::width if only the short side is given, in Size::height.
inline constexpr std::int64_t kShortSide = std::numeric_limits<std::int64_t>::min();

/// "1.5", "2"
std::string plain_number(double number);
/// "0 to 1", "1 or more" or "any"
std::string allowed_numbers(const Rules& rules);
/// "nearest, area, bilinear or bicubic"
std::string allowed_names(std::span<const std::string_view> names, int without);
/// "uint8, int8, ... or bool"
std::string dtype_names();
/// Returns an empty string if the rules allow the number, or both ends of a range.
std::string number_fault(const StepParameter& parameter, double value);
std::string range_fault(const StepParameter& parameter, const Range& value);
/// Returns an attribute's name, in quotes unless it is a plain word. Names come from files, so they may contain
/// anything.
std::string quoted(const std::string& name);
/// Returns the index of the word in `names`. Throws Error: invalid_argument.
std::size_t chosen(const StepParameter& parameter, const StepArguments& given, const Argument& found,
                   std::span<const std::string_view> names);

/// Returns the shortest text that parses to the same number. Equal chains therefore have equal texts on all machines.
template <typename Number>
std::string shortest(Number value) {
  std::array<char, 32> digits{};
  const auto [end, fault] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end};
}

template <typename Numbers>
std::string in_brackets(const Numbers& numbers, const char* brackets = "()") {
  std::string list(1, brackets[0]);
  for (const auto number : numbers) list += (list.size() > 1 ? ", " : "") + shortest(number);
  return list + brackets[1];
}

/// Defaults for all types. `given` contains all arguments of the step, `found` is the parameter's argument.
struct AnyValue {
  using P = const StepParameter&;
  using G = StepArguments&;
  using A = const Argument&;
  static constexpr std::string_view kPython = "str";
  template <typename Value>
  static std::string fault(P, const Value&) {
    return {};
  }
  static std::string allowed(P parameter) { return allowed_numbers(parameter.rules); }
  template <typename Value>
  static void require_pair(P parameter, A found, Value& value) {
    if (found.numbers.size() != 2) throw Misfit(std::string(parameter.name) + " must be a pair of numbers");
    value = {found.numbers[0], found.numbers[1]};
  }
};

/// An enum whose names choices() lists.
template <typename Value>
struct ValueOf : AnyValue {
  static void read(P p, G given, A found, Value& v) { v = static_cast<Value>(chosen(p, given, found, choices(v))); }
  static std::string text(P, Value value) { return std::string(choices(value)[static_cast<std::size_t>(value)]); }
  static std::string allowed(P parameter) { return allowed_names(choices(Value{}), parameter.rules.without); }
};

template <>
struct ValueOf<double> : AnyValue {
  static constexpr std::string_view kPython = "float";
  static void read(P parameter, G, A found, double& value) { value = StepArguments::real(found, parameter.name); }
  static std::string text(P, double value) { return shortest(value); }
  static std::string fault(P parameter, double value) { return number_fault(parameter, value); }
};

template <>
struct ValueOf<std::int64_t> : AnyValue {
  static constexpr std::string_view kPython = "int";
  static void read(P parameter, G given, A found, std::int64_t& value) { value = given.whole(found, parameter.name); }
  static std::string text(P, std::int64_t value) { return shortest(value); }
  static std::string fault(P parameter, std::int64_t v) { return number_fault(parameter, static_cast<double>(v)); }
};

template <>
struct ValueOf<bool> : AnyValue {
  static constexpr std::string_view kPython = "bool";
  static void read(P parameter, G, A found, bool& value) {
    const std::string& word = StepArguments::word(found, parameter.name);
    value = word == "true" || word == "True";
    if (!value && word != "false" && word != "False")
      throw Misfit(std::string(parameter.name) + " must be true or false");
  }
  static std::string text(P parameter, bool value) { return value ? std::string(parameter.rules.yes) : "False"; }
};

template <>
struct ValueOf<std::string> : AnyValue {
  static void read(P parameter, G, A found, std::string& value) { value = StepArguments::word(found, parameter.name); }
  static std::string text(P, const std::string& value) { return quoted(value); }
};

template <>
struct ValueOf<std::vector<std::string>> : AnyValue {
  static constexpr std::string_view kPython = "collections.abc.Sequence[str]";
  static void read(P parameter, G, A found, std::vector<std::string>& value) {
    if (!found.list || !found.numbers.empty()) throw Misfit(std::string(parameter.name) + " must be a list of names");
    value = found.words;
  }
  static std::string text(P, const std::vector<std::string>& value) {
    std::string list = "[";
    for (const std::string& name : value) list += (list.size() > 1 ? ", " : "") + quoted(name);
    return list + "]";
  }
};

template <>
struct ValueOf<std::vector<float>> : AnyValue {
  static constexpr std::string_view kPython = "collections.abc.Sequence[float]";
  static void read(P parameter, G, A found, std::vector<float>& value) {
    if (!found.word.empty() || !found.words.empty())
      throw Misfit(std::string(parameter.name) + " must be a list of numbers");
    value.assign(found.numbers.begin(), found.numbers.end());
  }
  static std::string text(P, const std::vector<float>& value) { return in_brackets(value, "[]"); }
};

/// A number, one number for each channel, or the word random.
template <>
struct ValueOf<std::vector<double>> : AnyValue {
  static constexpr std::string_view kPython = "float | tuple[float, float, float] | str";
  static void read(P parameter, G given, A found, std::vector<double>& value) {
    value = found.numbers;
    if (value.empty() && found.word != "random") {
      throw Error::invalid_argument(std::string(given.step()) + "(): " + std::string(parameter.name) +
                                    " must be one number, three numbers or \"random\"");
    }
  }
  static std::string text(P, const std::vector<double>& value) { return value.empty() ? "random" : in_brackets(value); }
  static std::string fault(P parameter, const std::vector<double>& value) {
    const bool finite = std::ranges::all_of(value, [](double number) { return std::isfinite(number); });
    if (finite && value.size() != 2 && value.size() <= 3) return {};
    return "needs finite " + std::string(parameter.name) + "s: one, or one for each of 3 channels";
  }
};

template <>
struct ValueOf<Fill> : AnyValue {
  static constexpr std::string_view kPython = "int | tuple[int, int, int]";
  static void read(P parameter, G given, A found, Fill& value) {
    if (!found.word.empty() || !found.words.empty()) throw Misfit(std::string(parameter.name) + " must be numbers");
    value.clear();
    for (const double number : found.numbers) value.push_back(given.whole(number, parameter.name));
  }
  static std::string text(P, const Fill& value) { return in_brackets(value); }
  static std::string fault(P parameter, const Fill& value) {
    const bool bytes = std::ranges::all_of(value, [](std::int64_t number) { return number >= 0 && number <= 255; });
    if (bytes && (value.size() == 1 || value.size() == 3)) return {};
    return "needs a " + std::string(parameter.name) + " from 0 to 255: one number, or one for each of 3 channels";
  }
};

template <>
struct ValueOf<DType> : AnyValue {
  static void read(P parameter, G, A found, DType& value) {
    const std::string& word = StepArguments::word(found, parameter.name);
    const auto named = dtype_named(word);
    if (!named) throw Error::invalid_argument("unknown dtype \"" + word + "\"; expected " + dtype_names());
    value = *named;
  }
  static std::string text(P, DType value) { return std::string(name(value)); }
};

/// A dtype, or nothing for the stored dtype.
template <>
struct ValueOf<std::optional<DType>> : AnyValue {
  static constexpr std::string_view kPython = "str | None";
  static void read(P parameter, G given, A found, std::optional<DType>& value) {
    value.reset();
    if (found.word != "None") ValueOf<DType>::read(parameter, given, found, value.emplace());
  }
  static std::string text(P, const std::optional<DType>& value) { return value ? std::string(name(*value)) : "None"; }
};

/// A shape, or one number for one dimension, or nothing for the stored shape.
template <>
struct ValueOf<std::optional<Shape>> : AnyValue {
  static constexpr std::string_view kPython = "int | tuple[int, ...] | None";
  static void read(P parameter, G given, A found, std::optional<Shape>& value) {
    value.reset();
    if (found.word == "None") return;
    if (!found.word.empty() || !found.words.empty() || (!found.list && found.numbers.empty()))
      throw Misfit(std::string(parameter.name) + " must be sizes");
    value.emplace();
    for (const double size : found.numbers) value->push_back(given.whole(size, parameter.name));
  }
  static std::string text(P, const std::optional<Shape>& value) { return value ? in_brackets(*value) : "None"; }
  static std::string fault(P parameter, const std::optional<Shape>& value) {
    for (const std::int64_t size : value.value_or(Shape{})) {
      if (size < 1 || static_cast<double>(size) > parameter.rules.most)
        return "needs sizes of at least 1 in " + std::string(parameter.name);
    }
    return {};
  }
};

template <>
struct ValueOf<Size> : AnyValue {
  static constexpr std::string_view kPython = "int | tuple[int, int]";
  static void read(P parameter, G given, A found, Size& value) {
    const std::string_view name = parameter.name;
    if (found.list) {
      if (found.numbers.size() != 2) throw Misfit(std::string(name) + " must be one number or two");
      value = {.width = given.whole(found.numbers[1], name), .height = given.whole(found.numbers[0], name)};
      return;
    }
    value.height = value.width = given.whole(found, name);
    if (const Argument* width = given.is_text() ? given.find(1, {}) : nullptr) {
      value.width = given.whole(*width, "width");
    } else if (parameter.rules.one == OneNumber::short_side) {
      value.width = kShortSide;
    }
  }
  static std::string text(P parameter, const Size& value) {
    const bool square = parameter.rules.one == OneNumber::square && value.width == value.height;
    return shortest(value.height) + (square || value.width == kShortSide ? "" : ", " + shortest(value.width));
  }
  static std::string fault(P parameter, const Size& value) {
    const bool fits = value.height > 0 && (value.width > 0 || value.width == kShortSide);
    return fits ? "" : "needs a " + std::string(parameter.name) + " of at least 1 pixel";
  }
};

template <>
struct ValueOf<Padding> : AnyValue {
  static constexpr std::string_view kPython = "int | tuple[int, int] | tuple[int, int, int, int] | None";
  static void read(P parameter, G given, A found, Padding& value) {
    std::vector<std::int64_t> sides;
    for (const double side : found.numbers) sides.push_back(given.whole(side, parameter.name));
    if (sides.size() != 1 && sides.size() != 2 && sides.size() != 4)
      throw Misfit(std::string(parameter.name) + " must be 1, 2 or 4 numbers");
    const std::size_t last = sides.size() - 1;
    value = {sides[0], sides[last == 0 ? 0 : 1], sides[last == 3 ? 2 : 0], sides[last]};
  }
  static std::string text(P, const Padding& value) {
    return in_brackets(std::array{value.left, value.top, value.right, value.bottom});
  }
  static std::string fault(P parameter, const Padding& value) {
    const auto [least, most] = std::minmax({value.left, value.top, value.right, value.bottom});
    return number_fault(parameter, static_cast<double>(least < 0 ? least : most));
  }
};

template <>
struct ValueOf<Range> : AnyValue {
  static constexpr std::string_view kPython = "float | tuple[float, float] | None";
  static void read(P parameter, G given, A found, Range& value) {
    const OneNumber one = parameter.rules.one;
    if (found.numbers.size() == 2 || one == OneNumber::nothing) return require_pair(parameter, found, value);
    const double number = StepArguments::real(found, parameter.name);
    value = {one == OneNumber::about_zero ? -number : number, number};
    if (one != OneNumber::about_one) return;
    if (!(number >= 0)) throw Error::invalid_argument(std::string(given.step()) + "() takes no negative numbers");
    value = {std::max(0.0, 1 - number), 1 + number};
  }
  static std::string text(P, const Range& value) { return in_brackets(std::array{value.low, value.high}); }
  static std::string fault(P parameter, const Range& value) { return range_fault(parameter, value); }
};

template <>
struct ValueOf<std::pair<double, double>> : AnyValue {
  static constexpr std::string_view kPython = "tuple[float, float] | None";
  static void read(P parameter, G, A found, std::pair<double, double>& v) { require_pair(parameter, found, v); }
  static std::string text(P, const std::pair<double, double>& v) { return in_brackets(std::array{v.first, v.second}); }
  static std::string fault(P parameter, const std::pair<double, double>& value) {
    const std::string first = number_fault(parameter, value.first);
    return first.empty() ? number_fault(parameter, value.second) : first;
  }
};

/// Ranges along x and y. One range applies to x only.
template <>
struct ValueOf<std::array<Range, 2>> : AnyValue {
  static constexpr std::string_view kPython = "float | tuple[float, float] | tuple[float, float, float, float] | None";
  static void read(P parameter, G given, A found, std::array<Range, 2>& value) {
    const std::vector<double>& all = found.numbers;
    value = {};
    if (all.size() != 4) return ValueOf<Range>::read(parameter, given, found, value[0]);
    value = {Range{all[0], all[1]}, Range{all[2], all[3]}};
  }
  static std::string text(P, const std::array<Range, 2>& value) {
    return in_brackets(std::array{value[0].low, value[0].high, value[1].low, value[1].high});
  }
  static std::string fault(P parameter, const std::array<Range, 2>& value) {
    const std::string first = range_fault(parameter, value[0]);
    return first.empty() ? range_fault(parameter, value[1]) : first;
  }
};

}  // namespace penstock
