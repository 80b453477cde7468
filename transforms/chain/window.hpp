// Parses and prints windows, and collects the windows of several chains.
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

/// Builds a window from the parsed arguments of a chain's text. Throws Misfit and the errors of window().
Chain window_from(StepArguments& given);

/// "window(jpg, offsets=[-1, 0], group="episode", edge="pad")"
std::string to_string(const WindowSpec& spec, std::span<const std::string> sources);

/// The window of one or several outputs of a loader.
struct ChainWindow {
  std::shared_ptr<const WindowSpec> spec;
  std::vector<std::string> sources;  ///< of the window's field, in order of preference
  /// For each output, its alternative fields. A step must have a field of each list.
  std::vector<std::vector<std::string>> needs;
  std::string output;  ///< name of the first output
};

/// Returns the distinct windows of some chains, in order of first use. Outputs with equal options and the same field
/// share a window, and so do the outputs that follow them.
std::vector<ChainWindow> windows_of(std::span<const std::pair<std::string, Chain>> chains);

/// Returns for each chain the index of its window in windows_of() plus 1, or 0 if it has no window.
std::vector<std::uint32_t> window_numbers(std::span<const std::pair<std::string, Chain>> chains);

}  // namespace penstock
