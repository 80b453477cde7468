#include <base/caught.hpp>
#include <loader/batch/stage.hpp>

namespace penstock {

BatchResult::BatchResult(Batch built) : epoch(built.epoch()), batch(std::move(built)) {
  bad = batch.slab()->bad;
  journey.epoch = epoch;
  journey.number = batch.number();
}

BatchResult::BatchResult(BatchBuilder& builder, const std::shared_ptr<SlabPool>& slabs, SlabPool::To to)
    : epoch(builder.slab().epoch),
      other_failures(builder.other_failures()),
      failure(builder.failure()),
      journey(builder.journey) {
  if (failure == nullptr) {
    failure = caught([&] {
      bad = builder.take_bad();
      builder.slab().bad = bad;
      Slab& slab = builder.slab();
      slab.read_bytes = builder.read_bytes();
      if (slab.offload() != nullptr) slab.read_bytes += slab.offload()->bytes_to_read(slab.rows);
    });
  }
  if (failure != nullptr) {
    slabs->release(&builder.slab());
    return;
  }
  failure = caught([&] { batch = Batch(SlabPool::lend(slabs, &builder.slab(), to)); });
}

}  // namespace penstock
