// When a loader next wants each block of the objects that it reads: its plan, looked at from the side of the bytes.
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

/// What is looked at; all of it outlives the outlook.
struct OutlookOf {
  const Dataset& dataset;
  const Program& program;
  const Selection& selection;
  const Windows* windows = nullptr;
  BlockBytes block_bytes = {};
  /// Of longer lists, of which it would take 16 bytes each in every process, a window is walked through.
  std::uint64_t longest_list = std::uint64_t{1} << 25;
};

/// Steps are rows of this rank, counted over all epochs of an order: they only rise as training goes on. Orders that
/// tell where a sample stands (each sample once an epoch, shuffled or not) are known for all epochs to come, of which
/// some dozens are looked at; of others (mixtures, draws, buckets), and of very long lists, a window of the coming
/// batches is walked through.
/// Any number of threads may ask.
class NextUse {
 public:
  /// No step: not wanted as far as is known.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  using OnUse = std::function<void(const BlockRun& run, std::uint64_t step)>;

  virtual ~NextUse() = default;
  /// Looks at where every sample lies, which takes about a microsecond of each. Throws what that throws; Error:
  /// resource, "interrupted", when `stop` asks for it.
  static std::unique_ptr<NextUse> make(const OutlookOf& of, const PlanOptions& options, const std::stop_token& stop);

  /// Batches go on from `position`: in another order, or elsewhere in it.
  virtual void go_to(const Position& position) = 0;
  /// Of the first row of a batch; kNever, where that is not known (yet).
  virtual std::uint64_t step_of(const Position& position) const = 0;
  /// The first step at or behind `from` that wants some byte of the block.
  virtual std::uint64_t at(std::uint32_t file, std::uint64_t block, std::uint64_t from) const = 0;
  /// Looks on, as far as it does from there, and calls `tell` of what was found: all uses with `anew`, else those of
  /// which it was not known before, and others. Used by one thread.
  virtual void look_ahead(std::uint64_t from, bool anew, const OnUse& tell, const std::stop_token& stop) = 0;
  virtual std::uint64_t looks_again() const = 0;  ///< steps after which to call look_ahead() again
  virtual bool neighbours_together() const = 0;   ///< rows that share a block mostly come close to each other
};

}  // namespace penstock
