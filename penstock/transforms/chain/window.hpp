// Windows: rows of an output that are several samples each, steps of a sequence before and behind the row's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/transforms/chain/step.hpp>

namespace penstock {

class StepArguments;

/// What becomes of a row whose window reaches over an end of its group: `pad` repeats the group's nearest step, `drop`
/// leaves the sample out of the epoch.
enum class Edge : std::uint8_t { pad, drop };

/// Which steps a row of a window has. docs/windows.md defines it.
struct WindowOptions {
  /// Of each step, in their order in the row: whole numbers, steps from the sample's own one (0); with `at`, in its
  /// unit.
  std::vector<double> offsets = {};
  /// Which samples belong together: a field ("episode", "json:episode"), or a regular expression (ECMAScript's) that is
  /// searched in the keys: its first group, or the match where it has none. Empty: all samples of the dataset.
  std::string group = {};
  std::string edge = "pad";  ///< or "drop"
  std::string order_by =
      {};  ///< a field that holds a number, "json:frame": the order within a group; empty: as they are
  /// A field that holds a number: a step is the last one whose number is at most the sample's own plus the offset.
  std::string at = {};
};

struct WindowSpec {
  std::vector<double> offsets;
  std::string group;
  Edge edge = Edge::pad;
  std::string order_by, at;
  friend bool operator==(const WindowSpec&, const WindowSpec&) = default;
};

/// First in a chain, in the place of field(): rows are steps of that field, one for each offset, and have the shape
/// (offsets, ...). What the chain draws it draws once for the row, so that all its steps are cropped and flipped alike.
/// Outputs that follow() such a one are windows of the same steps. Rows must have one shape.
/// Throws Error: invalid_argument, for offsets that are empty, not whole or too far, and words that mean nothing.
Chain window(const std::string& alternatives, const WindowOptions& options);
/// The same from what a chain's text has in brackets. Throws Misfit too.
Chain window_from(StepArguments& given);
/// "window(jpg, offsets=[-1, 0], group="episode", edge="pad")"
std::string to_string(const WindowSpec& spec, std::span<const std::string> sources);

namespace step {
/// Of a row of a window, which steps lie in its group.
struct WindowValid {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
};
}  // namespace step

/// After follow("OUTPUT"), whose chain begins with window(): bool (offsets,), true for steps of the row's group, false
/// where its nearest step is repeated.
Chain window_valid();

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
