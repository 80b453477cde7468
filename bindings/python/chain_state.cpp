#include "chain_state.hpp"

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <penstock/formats/error.hpp>

namespace penstock::python {
namespace {

namespace nb = nanobind;

template <typename S>
auto members(S&) {
  static_assert(std::is_empty_v<S>, "name this step's members below");
  return std::tie();
}
auto members(step::RandomResizedCrop& s) {
  return std::tie(s.width, s.height, s.scale_min, s.scale_max, s.ratio_min, s.ratio_max);
}
auto members(step::Resize& s) {
  return std::tie(s.short_side, s.width, s.height);
}
auto members(step::CenterCrop& s) {
  return std::tie(s.width, s.height);
}
auto members(step::RandomFlip& s) {
  return std::tie(s.probability);
}
auto members(step::Normalize& s) {
  return std::tie(s.mean, s.stddev);
}
auto members(step::Cast& s) {
  return std::tie(s.dtype);
}
auto members(step::Window& s) {
  return std::tie(s.rows);
}

// What is made in C++ cannot be taken to another process.
[[noreturn]] void refuse(const std::string& step) {
  throw Error::unsupported("a chain with " + step + " cannot be pickled");
}
std::tuple<> members(step::OwnDecode& s) {
  refuse(to_string(Step(s)));
}
std::tuple<> members(step::OwnTransform& s) {
  refuse(to_string(Step(s)));
}

template <typename Value>
nb::object to_object(const Value& value) {
  return nb::cast(value);
}
nb::object to_object(DType dtype) {
  return nb::cast(std::string(name(dtype)));
}

template <typename Value>
void from_object(nb::handle object, Value& value) {
  value = nb::cast<Value>(object);
}
void from_object(nb::handle object, DType& dtype) {
  const auto named = dtype_named(nb::cast<std::string>(object));
  if (!named) throw nb::cast_error();
  dtype = *named;
}

nb::tuple step_state(const Step& step) {
  nb::list state;
  state.append(step.index());
  Step copy = step;
  std::visit([&](auto& s) { std::apply([&](auto&... each) { (state.append(to_object(each)), ...); }, members(s)); },
             copy);
  return nb::tuple(state);
}

// The alternative of Step at a position that is known only now.
template <std::size_t... Positions>
Step step_at(std::size_t position, std::index_sequence<Positions...>) {
  Step step;
  const bool found = ((position == Positions && (step.emplace<Positions>(), true)) || ...);
  if (!found) throw nb::cast_error();
  return step;
}

Step step_from_state(const nb::tuple& state) {
  Step step = step_at(nb::cast<std::size_t>(state[0]), std::make_index_sequence<std::variant_size_v<Step>>());
  std::size_t next = 1;
  std::visit([&](auto& s) { std::apply([&](auto&... each) { (from_object(state[next++], each), ...); }, members(s)); },
             step);
  return step;
}

}  // namespace

nb::tuple chain_state(const Chain& chain) {
  nb::list steps;
  for (const Step& step : chain.steps) steps.append(step_state(step));
  return nb::make_tuple(chain.sources, chain.followed, chain.misuse, nb::tuple(steps));
}

Chain chain_from_state(const nb::tuple& state) {
  Chain chain{.sources = nb::cast<std::vector<std::string>>(state[0]),
              .followed = nb::cast<std::optional<std::string>>(state[1]),
              .steps = {},
              .misuse = nb::cast<std::string>(state[2])};
  for (const nb::handle step : nb::cast<nb::tuple>(state[3]))
    chain.steps.push_back(step_from_state(nb::cast<nb::tuple>(step)));
  return chain;
}

}  // namespace penstock::python
