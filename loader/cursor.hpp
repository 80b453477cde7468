// Where the consumer is: which batch it gets next, in which epoch.
#pragma once

#include <cstdint>
#include <string>

#include <penstock/loader/feeder.hpp>
#include <penstock/loader/plan.hpp>
#include <penstock/loader/state.hpp>

namespace penstock {

class Cursor {
 public:
  explicit Cursor(const PlanOptions& plan) : options_(plan), position_{.seed = plan.seed}, plan_(options_, 0) {}

  void go_to(const Position& position);
  bool at_end() const { return position_.batch >= plan_.batches(); }
  void advance() { ++position_.batch; }
  void next_epoch() { go_to({.seed = position_.seed, .epoch = position_.epoch + 1}); }

  const Position& position() const { return position_; }
  std::uint64_t batches_per_epoch() const { return Plan(options_, 0).batches(); }

  /// The position in a form that outlives this process, and back. Throws Error: invalid_argument, when the state
  /// belongs to another dataset or to another number of samples.
  LoaderState save(std::uint64_t fingerprint, std::string transforms) const;
  Position load(const LoaderState& state, std::uint64_t fingerprint) const;

 private:
  PlanOptions options_;
  Position position_;
  Plan plan_;
};

}  // namespace penstock
