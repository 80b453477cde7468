// Lists the steps that can be written as text, by domain, and makes a chain of one step from its arguments.
#pragma once

#include <span>
#include <string_view>

#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/chain/step_arguments.hpp>

namespace penstock::chain_parse {

struct Builder {
  std::string_view name;  ///< "image.resize"
  /// Throws Error: invalid_argument, without the name in front.
  Chain (*build)(StepArguments& given);
};

/// Each sorted by name.
std::span<const Builder> common_builders();  ///< arrays, labels, boxes and key points
std::span<const Builder> image_builders();
std::span<const Builder> points_builders();

}  // namespace penstock::chain_parse
