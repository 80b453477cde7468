#include <algorithm>
#include <utility>

#include <record/time/step_log.hpp>

namespace penstock {

StepTime& StepTime::operator+=(const StepTime& step) {
  plan += step.plan;
  read += step.read;
  decode += step.decode;
  transform += step.transform;
  deliver += step.deliver;
  custom_transform += step.custom_transform;
  copy += step.copy;
  compute += step.compute;
  other += step.other;
  batches += step.batches;
  return *this;
}

void StepLog::works(Clock::time_point now) {
  if (since_) (has_batch_ ? current_.compute : current_.other) += std::max(now - *since_, nanoseconds{0});
  since_ = now;
}

void StepLog::end() {
  const StepTime step = std::exchange(current_, {});
  sum_ += step;
  if (kept_.size() < kMost)
    kept_.push_back(step);
  else
    kept_[count_ % kMost] = step;
  ++count_;
}

void StepLog::asks(Clock::time_point now) {
  works(now);
  if (marked_ || current_.batches == 0) return;
  end();
  ++unmarked_;
}

void StepLog::gets(Clock::time_point now, const StepTime& waited, bool batch) {
  current_ += waited;
  current_.batches += batch ? 1 : 0;
  has_batch_ |= batch;
  since_ = now;
}

void StepLog::epoch_ends(Clock::time_point now) {
  works(now);
  has_batch_ = false;
  if (!marked_ && current_.batches > 0) end();
  unmarked_ = 0;
}

void StepLog::take_back_unmarked() {
  if (count_ > kMost) return;  // older steps are only part of the sum, because the ring has dropped them
  for (std::uint64_t left = std::exchange(unmarked_, 0); left > 0; --left, --count_) {
    current_ += kept_.back();
    kept_.pop_back();
  }
  sum_ = {};
  for (const StepTime& step : kept_) sum_ += step;
}

void StepLog::mark(Clock::time_point now) {
  works(now);
  if (!std::exchange(marked_, true)) take_back_unmarked();
  has_batch_ = false;
  if (current_.batches > 0) end();
}

Steps StepLog::steps() const {
  Steps steps{.first = count_ - kept_.size(), .last = {}, .sum = sum_};
  steps.last.reserve(kept_.size());
  for (std::uint64_t i = steps.first; i < count_; ++i) steps.last.push_back(kept_[i % kMost]);
  return steps;
}

void StepLog::reset() {
  current_ = sum_ = {};
  kept_.clear();
  count_ = unmarked_ = 0;
  since_.reset();
  has_batch_ = false;
}

}  // namespace penstock
