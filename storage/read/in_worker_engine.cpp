#include <utility>

#include <formats/extent.hpp>
#include <storage/read/in_worker_engine.hpp>

namespace penstock {

InWorkerEngine::InWorkerEngine(std::shared_ptr<EngineCore> core, AnswerFilter filter)
    : core_(std::move(core)), filter_(std::move(filter)) {}

InWorkerEngine::~InWorkerEngine() {
  core_->gate.close();
}

bool InWorkerEngine::stop(std::chrono::milliseconds) {
  core_->gate.close();
  return true;
}

void InWorkerEngine::submit(std::span<const ReadRequest> requests) {
  const BusyTime busy(core_->counters);
  core_->counters.asked(requests);
  for (const ReadRequest& request : requests)
    if (core_->admits(request)) read(request);
}

void InWorkerEngine::read(const ReadRequest& request) {
  const Extent& extent = request.extent;
  auto failure = caught([&] {
    const auto file = core_->open(extent.file);
    ReadVector target;
    target.assign(request.destination, extent.length);
    const ReadEnd end = read_fully(file->fd, extent.offset, target, core_->counters, filter_);
    if (end.errnum != 0) throw core_->files.failed(extent, end.errnum);
    if (!target.full()) throw core_->files.ends_inside(extent);
  });
  if (failure == nullptr) return core_->answer(request.tag);
  core_->fail(request, std::move(failure));
}

}  // namespace penstock
