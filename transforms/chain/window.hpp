// Reads and writes windows as text, and finds those of several chains.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <penstock/steps.hpp>

namespace penstock {

class StepArguments;

/// The same from what a chain's text has in brackets. Throws Misfit too.
Chain window_from(StepArguments& given);

/// "window(jpg, offsets=[-1, 0], group="episode", edge="pad")"
std::string to_string(const WindowSpec& spec, std::span<const std::string> sources);

/// The steps of one or several outputs of a loader.
struct ChainWindow {
  std::shared_ptr<const WindowSpec> spec;
  std::vector<std::string> sources;             ///< of the window's own field, in order of preference
  std::vector<std::vector<std::string>> needs;  ///< a step has a field of each of these lists: of the outputs
  std::string output;                           ///< the first of them
};

/// The windows of some chains, in the order in which they are met first. Outputs of equal options and the same field
/// share one, and so do those that follow them.
std::vector<ChainWindow> windows_of(std::span<const std::pair<std::string, Chain>> chains);

/// For each chain, the number of its window in that list, plus 1; 0 for those without.
std::vector<std::uint32_t> window_numbers(std::span<const std::pair<std::string, Chain>> chains);

}  // namespace penstock
