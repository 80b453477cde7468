#include <utility>

#include <penstock/loader/read/direct_engine.hpp>

namespace penstock {

DirectEngine::DirectEngine(std::shared_ptr<ReadDesk> desk, AnswerFilter filter)
    : desk_(std::move(desk)), filter_(std::move(filter)) {}

DirectEngine::~DirectEngine() {
  desk_->gate.close();
}

bool DirectEngine::stop(std::chrono::milliseconds) {
  desk_->gate.close();
  return true;
}

void DirectEngine::submit(std::span<const ReadRequest> requests) {
  const BusyTime busy(desk_->counters);
  desk_->counters.asked(requests);
  for (const ReadRequest& request : requests)
    if (desk_->admits(request)) read(request);
}

void DirectEngine::read(const ReadRequest& request) {
  const Extent& extent = request.extent;
  auto failure = caught([&] {
    const auto file = desk_->files.open(extent.file);
    Scatter scatter;
    scatter.assign(request.destination, extent.length);
    const ReadEnd end = read_fully(file->fd, extent.offset, scatter, desk_->counters, filter_);
    if (end.errnum != 0) throw desk_->files.failed(extent, end.errnum);
    if (!scatter.full()) throw desk_->files.ends_inside(extent);
  });
  if (failure == nullptr) return desk_->answer(request.tag);
  desk_->fail(request, std::move(failure));
}

}  // namespace penstock
