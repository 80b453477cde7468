// Tracks the consumer's position: the epoch and the batch that it gets next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <order/plan.hpp>
#include <order/position.hpp>
#include <penstock/state.hpp>

namespace penstock {

/// The position that a state resumes at, and remarks for the user: sentences whose subject is the state.
struct Restored {
  Position position;
  std::vector<std::string> notes = {};
};

class Cursor {
 public:
  /// `subset` is the fingerprint of the epoch's list of samples. `block_of_version_1` is the block shuffle implied by a
  /// state of version 1 that does not contain any; 0: a full shuffle.
  Cursor(const PlanOptions& plan, std::optional<std::uint64_t> subset, std::uint64_t block_of_version_1);

  void go_to(const Position& position);
  bool at_end() const { return !plan_.has(position_.batch); }
  void advance() { ++position_.batch; }           ///< past a batch, delivered or not
  void delivered() { saved_ = position_.batch; }  ///< the consumer has received the batches before the position
  void next_epoch() { go_to(position_.first_of(position_.epoch + 1)); }

  const Position& position() const { return position_; }
  /// all ranks have received the positions before this one
  std::uint64_t reached() const { return plan_.position_after(position_.batch); }
  /// With a budget, the number for the position's epoch, because other epochs have other batches.
  std::uint64_t batches_per_epoch() const;

  /// Saves the first batch after the last delivered one in a form that outlives this process, and restores it. Throws
  /// Error: invalid_argument, naming the difference, if the state belongs to another dataset or to another order of its
  /// samples.
  LoaderState save(std::uint64_t fingerprint, std::string transforms) const;
  Restored load(const LoaderState& state, std::uint64_t fingerprint, std::string_view transforms) const;

 private:
  SavedOrder order() const;      // of the loader's own options
  SavedMixture mixture() const;  // including the positions of its sources
  void carry(const LoaderState& state, Restored& restored) const;
  SavedBuckets buckets() const;
  void require_same_buckets(const LoaderState& state) const;
  void go_on(const LoaderState& state, Position& position) const;
  void note_differences(const LoaderState& state, std::string_view transforms, std::vector<std::string>& notes) const;

  const PlanOptions options_;
  const std::optional<std::uint64_t> subset_;
  const std::uint64_t block_of_version_1_;
  Position position_;
  // Batch number of a saved state. If batches have failed since the last delivery, the number is smaller than the
  // position's batch.
  std::uint64_t saved_ = 0;
  Plan plan_;
};

}  // namespace penstock
