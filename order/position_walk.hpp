// The positions of a run of batches, one after the other, across epochs.
#pragma once

#include <order/plan.hpp>
#include <order/position.hpp>

namespace penstock {

/// Used by one thread at a time.
class PositionWalk {
 public:
  PositionWalk(const PlanOptions& options, const Position& begin) : options_(options), at_(begin) { settle(); }

  /// Whether no epoch from now on has a batch, because an epoch has too few samples for a full batch.
  bool empty() const { return empty_; }
  const Position& at() const { return at_; }  ///< of the next batch
  const Plan& plan() const { return plan_; }  ///< of its epoch
  void next() {
    ++at_.batch;
    settle();
  }

 private:
  // Moves to the next epoch if this one has no batch left.
  void settle() {
    while (!plan_.has(at_.batch)) {
      empty_ = !plan_.has(0) && at_.start == 0;
      if (empty_) return;
      at_ = at_.first_of(at_.epoch + 1);
      plan_ = at_.plan(options_);
    }
  }

  PlanOptions options_;
  Position at_;
  Plan plan_ = at_.plan(options_);
  bool empty_ = false;
};

}  // namespace penstock
