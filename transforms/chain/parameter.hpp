// Builds the table of a step from a struct of namespace step.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <penstock/geometry.hpp>
#include <transforms/chain/value_of.hpp>

namespace penstock {

/// Rules of a parameter that must be given.
constexpr Rules required(Rules rules) {
  rules.required = true;
  return rules;
}
/// Rules of a parameter that is keyword-only in Python. A step's text contains it only if it differs from the default.
constexpr Rules option(Rules rules) {
  rules.keyword = true;
  rules.shown = Shown::unless_usual;
  return rules;
}
inline constexpr Rules kUsual{}, kRequired = required({}), kOption = option({}), kProbability{.least = 0, .most = 1},
                                 kPixels = required({.least = 1, .unit = "pixels"});

/// A parameter stored in a member of the step's struct.
template <typename Kind, typename Value>
class Parameter final : public StepParameter {
 public:
  using Values = ValueOf<Value>;

  Parameter(std::string_view called, Value Kind::*member, const Rules& ruled, std::string_view means)
      : StepParameter(called, ruled, means), member_(member) {}

  void read(StepArguments& given, std::size_t place, void* step) const override {
    const Argument* found = rules.required ? &given.get(place, name) : given.find(place, name);
    if (found != nullptr && found->none && !takes_none()) throw Misfit(std::string(name) + " must not be None");
    if (found != nullptr && !found->none) Values::read(*this, given, *found, static_cast<Kind*>(step)->*member_);
  }
  std::string text(const void* step) const override { return Values::text(*this, of(step)); }
  std::string fault(const void* step) const override { return Values::fault(*this, of(step)); }
  bool takes_two_places() const override { return std::is_same_v<Value, Size>; }
  std::string allowed() const override { return Values::allowed(*this); }

  std::string python_type() const override {
    std::string type(Values::kPython);
    if (!takes_none()) type.resize(std::min(type.size(), type.find(" | None")));
    if (rules.one == OneNumber::nothing && type.starts_with("float | ")) type.erase(0, 8);
    return type;
  }
  std::string python_text(const void* step) const override {
    if (takes_none()) return "None";
    const std::string value = text(step);
    const bool one = value.starts_with("(") && value.find(',') == std::string::npos;
    return std::is_enum_v<Value> ? "'" + value + "'" : one ? value.substr(1, value.size() - 2) : value;
  }

 private:
  // Returns whether None in Python means the default.
  bool takes_none() const {
    return (rules.shown == Shown::unless_usual || rules.shown == Shown::by_place_unless_usual) &&
           Values::kPython.find("None") != std::string_view::npos;
  }
  const Value& of(const void* step) const { return static_cast<const Kind*>(step)->*member_; }

  Value Kind::*member_;
};

/// Parameters that several steps share.
template <typename Kind>
auto interpolation_of(int without = -1) {
  return Parameter{"interpolation", &Kind::interpolation, option({.without = without}), "how pixels are resampled"};
}
template <typename Kind>
auto fill_of_step(std::string_view where) {
  return Parameter{"fill", &Kind::fill, option({.least = 0, .most = 255}), where};
}

/// A table of steps of type Kind. Besides its parameters, the struct may have these members:
///
///   check()       throws Error: invalid_argument, if parameters contradict each other
///   stands_for()  returns the step that this one abbreviates
///   own_text()    returns a text that is never parsed
///   kTraits, or traits() if the traits depend on the parameters
template <typename Kind>
class TableOf : public StepTable {
 public:
  template <typename... Values>
  TableOf(std::string_view called, std::string_view means, Parameter<Kind, Values>... takes)
      : StepTable(called, means) {
    (parameters_.push_back(std::make_unique<Parameter<Kind, Values>>(std::move(takes))), ...);
    usual_ = &value_;
    if constexpr (requires { Kind::kTraits; }) traits_ = Kind::kTraits;
  }

  Chain read(StepArguments& given) const override {
    Kind step{};
    read_into(&step, given);
    given.none_left();
    if constexpr (requires { step.stands_for(); }) {
      return one_step(step.stands_for());
    } else {
      return one_step(std::move(step));
    }
  }

  Traits traits(const Step& step) const override {
    if constexpr (requires(Kind kind) { kind.traits(); }) return step.as<Kind>()->traits();
    return traits_;
  }

  std::string text(const Step& step) const override {
    if constexpr (requires(Kind kind) { kind.own_text(); }) return step.as<Kind>()->own_text();
    return text_of(step.as<Kind>());
  }

  void check(const Step& step) const override {
    const Kind& kind = *step.as<Kind>();
    if constexpr (requires { kind.check(); }) kind.check();
    check_parameters(&kind);
  }

 private:
  const Kind value_{};
};

/// Sets a parameter of `step` from a word. Throws Error: invalid_argument, if the word is not a valid value.
template <typename Kind>
void choose(Kind& step, std::string_view parameter, const std::string& word) {
  const StepTable& table = Kind::table();
  StepArguments given(table.name, {Argument{.word = word}}, StepArguments::From::values);
  for (const auto& known : table.parameters()) {
    if (known->name == parameter) known->read(given, 0, &step);
  }
}

}  // namespace penstock
