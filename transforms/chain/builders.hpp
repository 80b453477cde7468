// Lists the steps that can be written as text, by domain, and makes a chain of one step from its arguments.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/chain/check_numbers.hpp>
#include <penstock/transforms/chain/step_arguments.hpp>
#include <penstock/transforms/chain/step_tables.hpp>

namespace penstock::chain_parse {

struct Builder {
  std::string_view name;  ///< "image.resize"
  /// Throws Error: invalid_argument, without the name in front.
  Chain (*build)(StepArguments& given);
};

/// A step whose table tells its parameters.
template <HasTable Kind>
constexpr Builder table_builder() {
  return {StepTable<Kind>::kName, [](StepArguments& given) {
            Kind step{};
            std::size_t place = 0;
            for_each_parameter<Kind>([&](const auto& parameter) {
              auto& value = step.*parameter.member;
              if (!parameter.usual) given.get(place, parameter.name);
              if constexpr (std::is_same_v<decltype(+value), double>) {
                value = given.real(place, parameter.name, parameter.usual.value_or(0));
              } else {
                value = given.whole(place, parameter.name, parameter.usual.value_or(0));
              }
              ++place;
            });
            return one_step(step);
          }};
}

/// Each sorted by name.
std::span<const Builder> common_builders();  ///< arrays, labels, boxes and key points
std::span<const Builder> image_builders();
std::span<const Builder> points_builders();

}  // namespace penstock::chain_parse
