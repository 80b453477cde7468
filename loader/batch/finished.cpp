#include <penstock/base/caught.hpp>
#include <penstock/loader/batch/finished.hpp>

namespace penstock {

Finished::Finished(Assembly& assembly, const std::shared_ptr<SlabPool>& slabs, SlabPool::To to)
    : epoch(assembly.slab().epoch),
      other_failures(assembly.other_failures()),
      failure(assembly.failure()),
      journey(assembly.journey) {
  if (failure == nullptr) {
    failure = caught([&] {
      bad = assembly.take_bad();
      assembly.slab().bad = bad;
    });
  }
  if (failure != nullptr) {
    slabs->release(&assembly.slab());
    return;
  }
  failure = caught([&] { batch = Batch(SlabPool::lend(slabs, &assembly.slab(), to)); });
}

}  // namespace penstock
