#include <algorithm>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <record/time/worker_record.hpp>

namespace penstock {

void SlowestRows::add(const RowTime& row) {
  const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto place = std::find_if(rows_.begin(), end, [&](const RowTime& other) { return other.work() < row.work(); });
  if (place == rows_.end()) return;
  if (count_ < kMost) ++count_;
  std::move_backward(place, rows_.begin() + static_cast<std::ptrdiff_t>(count_) - 1,
                     rows_.begin() + static_cast<std::ptrdiff_t>(count_));
  *place = row;
}

WorkerRecord::WorkerRecord(std::size_t outputs) : outputs_(outputs), rows_(std::make_unique<RowTime[]>(kRows)) {}

void WorkerRecord::row(const RowTime& row) {
  read_.add(static_cast<std::uint64_t>(row.read.count()));
  decode_.add(static_cast<std::uint64_t>(row.decode.count()));
  transform_.add(static_cast<std::uint64_t>(row.transform.count()));
  work_.add(static_cast<std::uint64_t>(row.work().count()));
  const std::scoped_lock lock(mutex_);
  rows_[next_] = row;
  next_ = (next_ + 1) % kRows;
  kept_ = std::min(kept_ + 1, kRows);
  if (row.work().count() > longest_) {
    slowest_.add(row);
    if (slowest_.rows().size() == SlowestRows::kMost) longest_ = slowest_.rows().back().work().count();
  }
}

void WorkerRecord::outputs(std::span<const FillTimes> spent) {
  for (std::size_t i = 0; i < spent.size(); ++i) {
    outputs_[i].decode.add(spent[i].decode);
    outputs_[i].transform.add(spent[i].transform);
  }
}

void WorkerRecord::runs_here() {
  if (thread_.load(std::memory_order_relaxed) == 0)
    thread_.store(static_cast<int>(::syscall(SYS_gettid)), std::memory_order_relaxed);
}

void WorkerRecord::reset() {
  for (Histogram* histogram : {&read_, &decode_, &transform_, &work_}) histogram->reset();
  for (OutputTime& output : outputs_) {
    output.decode.reset();
    output.transform.reset();
  }
  const Cores now = told();
  const std::scoped_lock lock(mutex_);
  next_ = kept_ = 0;
  slowest_ = {};
  longest_ = 0;
  before_ = now;
}

FillTimes WorkerRecord::output(std::size_t number) const {
  return {.decode = outputs_[number].decode.get(), .transform = outputs_[number].transform.get()};
}

void WorkerRecord::add_last(std::size_t most, std::vector<RowSpan>& rows) const {
  const std::scoped_lock lock(mutex_);
  const std::size_t count = std::min(most, kept_);
  for (std::size_t i = 0; i < count; ++i) {
    const RowTime& row = rows_[(next_ + kRows - 1 - i * kept_ / count) % kRows];
    rows.push_back({.read = row.read, .decode = row.decode, .transform = row.transform, .bytes = row.bytes});
  }
}

void WorkerRecord::add_slowest(SlowestRows& slowest) const {
  const std::scoped_lock lock(mutex_);
  for (const RowTime& row : slowest_.rows()) slowest.add(row);
}

// Reads the kernel's scheduler statistics of a thread: man 5 proc, /proc/PID/schedstat
// (Documentation/scheduler/sched-stats.rst).
WorkerRecord::Cores WorkerRecord::told() const {
  const int thread = thread_.load(std::memory_order_relaxed);
  if (thread == 0) return {};
  char text[96];
  std::snprintf(text, sizeof text, "/proc/self/task/%d/schedstat", thread);
  const int file = ::open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return {};
  text[length] = '\0';
  long long on = 0, waited = 0;
  if (std::sscanf(text, "%lld %lld", &on, &waited) != 2) return {};
  return {nanoseconds(on), nanoseconds(waited)};
}

WorkerRecord::Cores WorkerRecord::cores() const {
  const Cores now = told();
  const std::scoped_lock lock(mutex_);
  return {std::max(nanoseconds{}, now.on - before_.on), std::max(nanoseconds{}, now.waited - before_.waited)};
}

}  // namespace penstock
