#include <utility>

#include <penstock/base/caught.hpp>
#include <penstock/loader/batch/batch_stage.hpp>

namespace penstock {

BatchStage::BatchStage(ReorderBuffer& delivery, std::shared_ptr<SlabPool> slabs, std::function<void(Batch&)> step,
                       unsigned ahead, StageClock& clock)
    : delivery_(delivery),
      slabs_(std::move(slabs)),
      step_(std::move(step)),
      clock_(clock),
      queue_(ahead, [this](const BatchResult& unwanted) {
        if (unwanted.batch.slab() != nullptr) slabs_->hand_over(unwanted.batch.slab().get());
      }) {}

void BatchStage::run() {
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  while (const auto generation = queue_.next_generation()) {
    for (std::uint64_t sequence = 0; advance(*generation, sequence);) ++sequence;
  }
}

bool BatchStage::advance(std::uint64_t generation, std::uint64_t sequence) {
  Stopwatch watch;
  BatchBuilder* builder = delivery_.take_of(generation, sequence);
  clock_.stalled_in.add(watch.lap());
  if (builder == nullptr) return false;
  std::list<BatchResult> one;
  BatchResult& finished = one.emplace_back(*builder, slabs_, SlabPool::To::stage);
  if (finished.failure == nullptr) {
    finished.failure = caught([&] {
      Batch given = finished.batch;
      step_(given);
      finished.batch.attach(given.attached());
    });
  }
  clock_.busy.add(watch.lap());
  finished.journey.stepped = watch.last();
  const bool wanted = queue_.put(generation, std::move(one));
  clock_.stalled_out.add(watch.lap());
  return wanted;
}

std::optional<BatchResult> BatchStage::take(std::chrono::milliseconds timeout) {
  std::optional<BatchResult> finished = queue_.take(timeout);
  if (finished && finished->batch.slab() != nullptr) slabs_->hand_over(finished->batch.slab().get());
  return finished;
}

}  // namespace penstock
