// The order of an epoch whose batches have samples of similar lengths: windows of another order, sorted and cut.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <order/buckets/length_table.hpp>
#include <order/mixture/mixed_order.hpp>
#include <order/permutation/row.hpp>
#include <penstock/order.hpp>

namespace penstock {

/// The inputs for composing one epoch's batches, besides the lengths.
struct EpochToCompose {
  std::uint64_t samples = 0;
  bool shuffle = false;
  std::uint64_t shuffle_block = 0, seed = 0, epoch = 0;
  std::shared_ptr<const Carried> carried = {};
  BatchLimits limits = {};

  bool same(const EpochToCompose& other) const;
};

/// One epoch. A *place* is a position in the order that this class makes. Window w has the same positions and places,
/// [w * window, (w + 1) * window), in two different orders. Any number of threads may use it at once.
///
/// Invariant: a batch never crosses the border of a window, so any window can be composed without the others.
class ComposedEpoch {
 public:
  /// Replaces `rows` by those of positions [first, end) of the underlying order. Used by one thread.
  using ListRows = std::function<void(std::uint64_t first, std::uint64_t end, std::vector<Row>& rows)>;
  struct Window {
    std::uint64_t number = 0;
    std::vector<Row> rows;                    // by place
    std::vector<std::uint64_t> batch_begins;  // places
  };
  struct GlobalBatch {
    std::uint64_t first, end;  ///< places
  };

  /// `make_lister` makes a lister for each thread that composes.
  ComposedEpoch(std::shared_ptr<const LengthTable> lengths, std::uint64_t window, const EpochToCompose& what,
                std::function<ListRows()> make_lister);

  const EpochToCompose& what() const { return what_; }
  std::uint64_t window_size() const { return window_; }
  std::shared_ptr<const Window> window(std::uint64_t number);
  /// The batch, or nothing after the last one. Composes all windows up to the batch's, unless that was done before.
  std::optional<GlobalBatch> batch(std::uint64_t number);
  std::uint64_t batches();  ///< of all windows

 private:
  std::uint64_t windows() const { return (what_.samples + window_ - 1) / window_; }
  // a remainder of a window's rows that is not a multiple of this stays at the window's end
  std::uint64_t unit() const;
  Window composed(std::uint64_t number, const ListRows& list) const;
  std::vector<std::uint64_t> sorted(const std::vector<Row>& rows, std::uint64_t count) const;
  std::vector<std::uint64_t> cut(const std::vector<Row>& rows, const std::vector<std::uint64_t>& order) const;
  bool reaches(std::uint64_t number);
  void compose_next(std::uint64_t windows);
  void keep(std::shared_ptr<const Window> window);  // mutex_ is held

  const std::shared_ptr<const LengthTable> lengths_;
  const std::uint64_t window_;
  const EpochToCompose what_;
  const std::function<ListRows()> make_lister_;
  std::mutex composing_;  // held while a window is composed; guards list_
  ListRows list_;
  std::mutex mutex_;                   // guards everything below; held only briefly
  std::vector<std::uint64_t> begins_;  // of the batches in windows [0, begun_)
  std::uint64_t begun_ = 0;
  std::deque<std::shared_ptr<const Window>> kept_;  // most recently used
};

/// The batches of one loader, shared by all its plans, which reuse composed epochs.
class BucketedOrder {
 public:
  /// `lengths`: one for each number in the loader's list of samples. Its fingerprint is that of the whole dataset.
  BucketedOrder(std::string by, std::shared_ptr<const LengthTable> lengths, std::uint64_t window, double budget);

  const std::string& by() const { return by_; }
  std::uint64_t fingerprint() const { return lengths_->fingerprint(); }
  std::uint64_t window() const { return window_; }
  double budget() const { return budget_; }
  std::shared_ptr<ComposedEpoch> epoch(const EpochToCompose& what,
                                       std::function<ComposedEpoch::ListRows()> make_lister) const;

 private:
  const std::string by_;
  const std::shared_ptr<const LengthTable> lengths_;
  const std::uint64_t window_;
  const double budget_;
  mutable std::mutex mutex_;                                   // guards epochs_
  mutable std::deque<std::shared_ptr<ComposedEpoch>> epochs_;  // most recently used
};

/// One plan's view of an epoch. Used by one thread at a time.
class BucketedEpoch {
 public:
  explicit BucketedEpoch(std::shared_ptr<ComposedEpoch> epoch) : epoch_(std::move(epoch)) {}

  Row row_at(std::uint64_t place);
  std::optional<ComposedEpoch::GlobalBatch> batch(std::uint64_t number) { return epoch_->batch(number); }
  std::uint64_t batches() { return epoch_->batches(); }
  const BatchLimits& limits() const { return epoch_->what().limits; }
  bool by_budget() const { return limits().budget != 0; }

 private:
  std::shared_ptr<ComposedEpoch> epoch_;
  std::shared_ptr<const ComposedEpoch::Window> window_;
};

}  // namespace penstock
