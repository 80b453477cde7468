#include <ctime>
#include <utility>

#include <base/caught.hpp>
#include <loader/batch/batch_stage.hpp>
#include <record/time/profiler_range.hpp>

namespace penstock {
namespace {

// The step gets a copy of the batch, so only what it attached takes effect.
void attach_made(const std::function<void(Batch&)>& step, Batch& batch) {
  Batch given = batch;
  step(given);
  batch.attach(given.attached());
}

thread_local nanoseconds awaited_lock{};  // by the step in this thread

nanoseconds time_on_a_core() {
  std::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

}  // namespace

void waited_for_lock(nanoseconds time) {
  awaited_lock += time;
}

BatchStage::BatchStage(Stage& before, std::function<void(Batch&)> step, std::size_t ahead)
    : QueuedStage(before, "custom_transform", ahead, "penstock-batch"), step_(step), again_(std::move(step)) {}

bool BatchStage::join(std::chrono::milliseconds /*grace*/) {
  if (thread_ == nullptr) return true;
  if (runs_in_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return thread_->join_for({});
  thread_->join();
  return true;
}

void BatchStage::work(Batch& batch) {
  runs_in_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  awaited_lock = {};
  const ProfilerRange range(name().c_str());
  const nanoseconds before = time_on_a_core();
  const auto failure = caught([&] { attach_made(step_, batch); });
  on_cores_.add(time_on_a_core() - before);
  awaits_lock_.add(awaited_lock);
  if (failure) std::rethrow_exception(failure);
}

void BatchStage::report(Stats& stats) const {
  QueuedStage::report(stats);
  stats.custom_transform_on_cores += on_cores_.get();
  stats.custom_transform_awaits_lock += awaits_lock_.get();
}

void BatchStage::reset_stats() {
  QueuedStage::reset_stats();
  on_cores_.reset();
  awaits_lock_.reset();
}

Batch BatchStage::apply(Batch batch) {
  attach_made(again_, batch);
  return batch;
}

void BatchStage::discard(const BatchResult& unwanted) {
  if (unwanted.batch.slab() != nullptr) pool().hand_over(unwanted.batch.slab().get());
}

}  // namespace penstock
