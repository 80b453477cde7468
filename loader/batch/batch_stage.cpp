#include <utility>

#include <penstock/loader/batch/batch_stage.hpp>

namespace penstock {
namespace {

// What the step does with its Batch itself stays without effect: only what it attached is taken.
void attach_made(const std::function<void(Batch&)>& step, Batch& batch) {
  Batch given = batch;
  step(given);
  batch.attach(given.attached());
}

}  // namespace

BatchStage::BatchStage(Stage& before, const std::string& name, std::function<void(Batch&)> step, std::size_t ahead)
    : QueuedStage(before, name, ahead, "penstock-batch"), step_(step), again_(std::move(step)) {}

bool BatchStage::join(std::chrono::milliseconds /*grace*/) {
  if (thread_ == nullptr) return true;
  if (runs_in_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return thread_->join_for({});
  thread_->join();
  return true;
}

void BatchStage::work(Batch& batch) {
  runs_in_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  attach_made(step_, batch);
}

Batch BatchStage::apply(Batch batch) {
  attach_made(again_, batch);
  return batch;
}

void BatchStage::discard(const BatchResult& unwanted) {
  if (unwanted.batch.slab() != nullptr) pool().hand_over(unwanted.batch.slab().get());
}

}  // namespace penstock
