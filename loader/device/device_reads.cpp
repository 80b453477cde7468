#include <cerrno>
#include <utility>

#include <base/caught.hpp>
#include <loader/device/device_reads.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kFiles = 256;
constexpr unsigned kThreads = 16;  // reads in flight, which depend on the storage and not on the cores
constexpr unsigned kReadAttempts = 3;
constexpr unsigned kInterruptions = 16;  // consecutive ones that do not count as failures

}  // namespace

DeviceReads::DeviceReads(const Dataset& dataset, std::shared_ptr<FileReads> reads, unsigned threads)
    : dataset_(dataset),
      reads_(std::move(reads)),
      threads_(threads != 0 ? threads : kThreads),
      files_(dataset_.file_count(), [this](std::uint32_t file) { return dataset_.file(file); },
             {.root = dataset_.path(),
              .direct_io = reads_->wants_direct_io(),
              .random_access = true,
              .keep_open = 1,
              .check = [this](std::uint32_t file, const FileIdentity& now) { dataset_.require_unchanged(file, now); }}),
      opened_(kFiles) {}

std::shared_ptr<const DeviceReads::Opened> DeviceReads::opened(std::uint32_t file) {
  {
    const std::scoped_lock lock(mutex_);
    if (auto found = opened_.find(file)) return found;
  }
  auto open = std::make_shared<Opened>();
  open->file = files_.open(file);
  open->device = reads_->open(open->file->fd);
  std::shared_ptr<const Opened> oldest;  // closed after the lock is released
  const std::scoped_lock lock(mutex_);
  oldest = opened_.keep(file, open);
  return open;
}

bool DeviceReads::takes(const Extent& extent) {
  try {
    const std::uint64_t size = opened(extent.file)->file->size;
    return extent.length <= size && extent.offset <= size - extent.length;
  } catch (const Error&) {
    return false;
  }
}

std::string DeviceReads::bounced(std::uint32_t file) {
  return opened(file)->device->bounced();
}

void DeviceReads::bring(std::span<const DeviceRow> rows, const std::function<bool()>& cancelled) {
  if (rows.empty()) return;
  Job job{rows, cancelled, 0, rows.size(), rows.size(), nullptr};
  std::unique_lock lock(mutex_);
  if (closed_) return;
  jobs_.push_back(&job);
  arrived_.notify_all();
  done_.wait(lock, [&] { return job.left == 0; });
  if (job.failure != nullptr) std::rethrow_exception(job.failure);
}

void DeviceReads::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job& job = *jobs_.front();
    const std::size_t row = job.next++;
    if (job.next == job.rows.size()) jobs_.pop_front();
    lock.unlock();
    std::exception_ptr failure = failure_of(job.rows[row], job.cancelled);
    lock.lock();
    if (failure != nullptr && row < job.failed_row) {
      job.failed_row = row;
      job.failure = std::move(failure);
    }
    if (--job.left == 0) done_.notify_all();
  }
}

void DeviceReads::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_all();
}

std::exception_ptr DeviceReads::failure_of(const DeviceRow& row, const std::function<bool()>& cancelled) {
  auto failure = caught([&] {
    if (!cancelled()) read(row);
  });
  if (failure == nullptr) return nullptr;
  return explained(std::move(failure), [&] {
    return ErrorContext{.dataset = dataset_.path().string(),
                        .shard = {},
                        .key = std::string(row.key),
                        .field = std::string(row.field),
                        .offset = row.extent.offset};
  });
}

void DeviceReads::read(const DeviceRow& row) {
  const auto open = opened(row.extent.file);
  unsigned failures = 0, interruptions = 0;
  for (std::uint64_t done = 0; done < row.extent.length;) {
    const std::int64_t answer =
        open->device->read(row.memory, row.at + done, row.extent.length - done, row.extent.offset + done);
    if (answer == 0) throw files_.ends_inside(row.extent);
    if (answer > 0) {
      done += static_cast<std::uint64_t>(answer);
      interruptions = 0;
      continue;
    }
    const bool interrupted = (answer == -EINTR || answer == -EAGAIN) && ++interruptions < kInterruptions;
    if (!interrupted && ++failures == kReadAttempts) throw files_.failed(row.extent, static_cast<int>(-answer));
  }
  bytes_.fetch_add(row.extent.length, std::memory_order_relaxed);
}

}  // namespace penstock
