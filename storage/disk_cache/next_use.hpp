// Computes when a loader next needs each block: the inverse of its plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include <order/plan.hpp>
#include <order/position.hpp>
#include <order/selection.hpp>
#include <order/windows/windows.hpp>
#include <penstock/dataset.hpp>
#include <storage/disk_cache/block_entries.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Inputs of NextUse::make(). They must outlive the result.
struct OutlookOf {
  const Dataset& dataset;
  const Program& program;
  const Selection& selection;
  const Windows* windows = nullptr;
  BlockBytes block_bytes = {};
  /// A list longer than this would cost 16 bytes per entry in every process, so only coming batches are walked through.
  std::uint64_t longest_list = std::uint64_t{1} << 25;
};

/// A step is one row of this rank, counted over all epochs of an order, so steps only increase during training. Orders
/// with each sample once per epoch, shuffled or not, can be inverted; some dozens of epochs are searched. For other
/// orders (mixtures, draws, buckets) and very long lists, a window of coming batches is walked through.
/// Thread-safe.
class NextUse {
 public:
  /// No step: no use is known.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  using OnUse = std::function<void(const BlockRun& run, std::uint64_t step)>;

  virtual ~NextUse() = default;
  /// Locates every sample, which takes about a microsecond each. Throws the exceptions of the index; Error: resource,
  /// "interrupted", if `stop` requests it.
  static std::unique_ptr<NextUse> make(const OutlookOf& of, const PlanOptions& options, const std::stop_token& stop);

  /// Continues from `position`, after a jump or in another order.
  virtual void go_to(const Position& position) = 0;
  /// Returns the step of the first row of a batch; kNever if it is not known (yet).
  virtual std::uint64_t step_of(const Position& position) const = 0;
  /// Returns the first step at or after `from` that reads a byte of the block.
  virtual std::uint64_t at(std::uint32_t file, std::uint64_t block, std::uint64_t from) const = 0;
  /// Extends the search as far as it goes from `from`, and calls `tell` with uses. With `anew` it reports all known
  /// uses, otherwise at least the newly found ones. Called by one thread at a time.
  virtual void look_ahead(std::uint64_t from, bool anew, const OnUse& tell, const std::stop_token& stop) = 0;
  virtual std::uint64_t looks_again() const = 0;  ///< steps after which to call look_ahead() again
  virtual bool neighbours_together() const = 0;   ///< true if rows that share a block are mostly close in the order
};

}  // namespace penstock
