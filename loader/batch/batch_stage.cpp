#include <utility>

#include <penstock/base/caught.hpp>
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

BatchStage::BatchStage(Stage& before, std::shared_ptr<SlabPool> slabs, std::string name,
                       std::function<void(Batch&)> step, unsigned ahead)
    : Stage(std::move(name), 1),
      before_(before),
      slabs_(std::move(slabs)),
      step_(step),
      again_(std::move(step)),
      queue_(ahead, [this](const BatchResult& unwanted) {
        if (unwanted.batch.slab() != nullptr) slabs_->hand_over(unwanted.batch.slab().get());
      }) {}

void BatchStage::start(const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed) {
  thread_ = std::make_unique<Thread>(
      "penstock-batch", [this, keeps_alive](const std::stop_token&) { run(); }, failed);
}

bool BatchStage::join(std::chrono::milliseconds /*grace*/) {
  if (thread_ == nullptr) return true;
  if (runs_in_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return thread_->join_for({});
  thread_->join();
  return true;
}

void BatchStage::run() {
  runs_in_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  while (const auto generation = queue_.next_generation()) {
    while (advance(*generation)) {
    }
  }
}

bool BatchStage::advance(std::uint64_t generation) {
  Stopwatch watch;
  std::optional<BatchResult> result = before_.take_of(generation);
  clock_.stalled_in.add(watch.lap());
  if (!result) return false;
  if (result->failure == nullptr) result->failure = caught([&] { attach_made(step_, result->batch); });
  clock_.busy.add(watch.lap());
  result->journey.passed.push_back(watch.last());
  const bool wanted = queue_.put(generation, std::move(*result));
  clock_.stalled_out.add(watch.lap());
  return wanted;
}

Batch BatchStage::apply(Batch batch) {
  attach_made(again_, batch);
  return batch;
}

std::optional<BatchResult> BatchStage::take(std::chrono::milliseconds timeout) {
  std::optional<BatchResult> result = queue_.take(timeout);
  if (result && result->batch.slab() != nullptr) slabs_->hand_over(result->batch.slab().get());
  return result;
}

}  // namespace penstock
