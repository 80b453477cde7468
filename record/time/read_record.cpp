#include <algorithm>

#include <record/time/read_record.hpp>

namespace penstock {

ReadSpan ReadRecord::begin(std::uint64_t bytes, Clock::time_point now) {
  together_.add(reads_.fetch_add(1, std::memory_order_relaxed) + 1);
  const std::uint64_t before = under_way_.fetch_add(bytes, std::memory_order_relaxed);
  return {.begin = now, .took = {}, .bytes = bytes, .under_way = before + bytes};
}

void ReadRecord::end(const ReadSpan& read, Clock::time_point now, bool ahead) {
  reads_.fetch_sub(1, std::memory_order_relaxed);
  under_way_.fetch_sub(read.bytes, std::memory_order_relaxed);
  const nanoseconds took = std::max(nanoseconds{}, now - read.begin);
  latency_.add(static_cast<std::uint64_t>(took.count()));
  if (ahead && trace_ != nullptr && trace_->on())
    trace_->add({.kind = TraceSpan::Kind::request, .begin = read.begin, .took = took, .bytes = read.bytes});
  // A read must not wait for a reader of reports, so the span is dropped instead.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  kept_[next_] = read;
  kept_[next_].took = took;
  next_ = (next_ + 1) % kReads;
  count_ = std::min(count_ + 1, kReads);
}

void ReadRecord::reset() {
  latency_.reset();
  together_.reset();
  const std::scoped_lock lock(mutex_);
  next_ = count_ = 0;
}

std::vector<ReadSpan> ReadRecord::last() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ReadSpan> reads;
  reads.reserve(count_);
  for (std::size_t i = 0; i < count_; ++i) reads.push_back(kept_[(next_ + kReads - count_ + i) % kReads]);
  return reads;
}

}  // namespace penstock
