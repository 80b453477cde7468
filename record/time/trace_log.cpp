#include <utility>

#include <record/time/trace_log.hpp>

namespace penstock {

TraceLane::Records TraceLane::end() {
  const std::scoped_lock lock(mutex_);
  on_.store(false, std::memory_order_relaxed);
  return std::exchange(records_, {});
}

TraceLog::TraceLog(unsigned workers) : workers_(workers) {
  for (std::size_t lane = 0; lane < kFirstWorker + workers; ++lane) lanes_.emplace_back(room_);
}

TraceLane& TraceLog::add_stage() {
  return lanes_.emplace_back(room_);
}

void TraceLog::begin(std::uint64_t max_events) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  room_.left.store(static_cast<std::int64_t>(std::min(max_events, kMost)), std::memory_order_relaxed);
  room_.dropped.store(0, std::memory_order_relaxed);
  from_ = Clock::now();
}

void TraceLog::record(bool on) {
  for (TraceLane& lane : lanes_) lane.record(on);
}

TraceLog::Recorded TraceLog::end() {
  Recorded all;
  all.from = from_;
  all.until = Clock::now();
  const auto taken = [&](TraceLane& lane) {
    TraceLane::Records records = lane.end();
    all.events += records.spans.size() + records.rows.size() + records.levels.size();
    return records;
  };
  all.consumer = taken(consumer());
  all.scheduler = taken(scheduler());
  all.requests = taken(requests());
  for (std::size_t i = kFirstWorker; i < lanes_.size(); ++i)
    (i < kFirstWorker + workers_ ? all.workers : all.stages).push_back(taken(lanes_[i]));
  all.dropped = room_.dropped.load(std::memory_order_relaxed);
  return all;
}

}  // namespace penstock
