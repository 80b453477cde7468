#include <utility>

#include <penstock/base/caught.hpp>
#include <penstock/loader/batch/batch_stage.hpp>

namespace penstock {

BatchStage::BatchStage(ReorderBuffer& reorder, std::shared_ptr<SlabPool> slabs, std::function<void(Batch&)> step,
                       unsigned ahead, StageClock& clock)
    : reorder_(reorder),
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
  BatchBuilder* builder = reorder_.take_of(generation, sequence);
  clock_.stalled_in.add(watch.lap());
  if (builder == nullptr) return false;
  std::list<BatchResult> one;
  BatchResult& result = one.emplace_back(*builder, slabs_, SlabPool::To::stage);
  if (result.failure == nullptr) {
    result.failure = caught([&] {
      Batch given = result.batch;
      step_(given);
      result.batch.attach(given.attached());
    });
  }
  clock_.busy.add(watch.lap());
  result.journey.stepped = watch.last();
  const bool wanted = queue_.put(generation, std::move(one));
  clock_.stalled_out.add(watch.lap());
  return wanted;
}

std::optional<BatchResult> BatchStage::take(std::chrono::milliseconds timeout) {
  std::optional<BatchResult> result = queue_.take(timeout);
  if (result && result->batch.slab() != nullptr) slabs_->hand_over(result->batch.slab().get());
  return result;
}

}  // namespace penstock
