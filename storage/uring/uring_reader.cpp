#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <formats/extent.hpp>
#include <storage/uring/uring_reader.hpp>

namespace penstock {
namespace {

// Value of user_data in a completion: the address of an UringRead, or one of these.
constexpr std::uint64_t kWake = 0, kCancel = 1;

constexpr std::size_t kAlignSlack = 128 << 10;  // bytes that alignment adds to a read at both ends
constexpr std::size_t kLargeBuffers = 24;

// Adds a spare element to `all`. `spare` always has capacity for every element, so returning one needs no memory and
// recycle() can be noexcept.
template <typename T>
void add_spare(std::vector<std::unique_ptr<T>>& all, std::vector<T*>& spare) {
  if (spare.capacity() <= all.size()) spare.reserve(2 * all.size() + 1);
  all.push_back(std::make_unique<T>());
  spare.push_back(all.back().get());
}

}  // namespace

UringReader::UringReader(std::shared_ptr<EngineCore> core, const EngineOptions& options, AnswerFilter filter)
    : core_(std::move(core)), options_(options), filter_(std::move(filter)), wake_(eventfd(0, EFD_CLOEXEC)) {
  if (wake_.get() < 0) throw Error::io(errno, "eventfd");
}

void UringReader::wake() {
  const std::uint64_t one = 1;
  while (write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

// Wakes the thread only if `incoming_` was empty: otherwise an earlier submission has already done so.
void UringReader::submit(std::span<const ReadRequest> requests) {
  std::unique_lock lock(mutex_);
  if (broken_ != 0) {
    const int errnum = broken_;
    lock.unlock();
    for (const ReadRequest& request : requests) core_->answer(request.tag, core_->failure_of(request.extent, errnum));
    return;
  }
  const bool asleep = incoming_.empty();
  incoming_.insert(incoming_.end(), requests.begin(), requests.end());
  lock.unlock();
  if (asleep) wake();
}

bool UringReader::broken() {
  const std::lock_guard lock(mutex_);
  return broken_ != 0;
}

// The thread makes and destroys its ring, because IORING_SETUP_SINGLE_ISSUER binds a ring to one thread.
void UringReader::run(const std::stop_token& stop, std::promise<void>& ready) {
  try {
    ring_.emplace(options_.depth + 2);  // the reads, the eventfd and a cancellation
    if (options_.direct_io) scratch_.emplace(std::max(options_.merge_bytes, kSplitBytes) + kAlignSlack, kLargeBuffers);
    bin_.resize(std::min(options_.merge_gap_bytes, options_.merge_bytes));
  } catch (...) {
    ring_.reset();
    ready.set_exception(std::current_exception());
    return;
  }
  ready.set_value();
  loop(stop);
  ring_.reset();
}

void UringReader::loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool sound = true;
    const auto failure = caught([&] {
      listen();
      take_over();
      start_waiting();
      sound = wait();
    });
    if (failure != nullptr) begin_anew(failure);
    if (!sound) return;
  }
  drain();
}

void UringReader::listen() {
  if (listening_) return;
  io_uring_sqe* sqe = ring_->entry();
  io_uring_prep_read(sqe, wake_.get(), &wakes_, sizeof wakes_, 0);
  io_uring_sqe_set_data64(sqe, kWake);
  listening_ = true;
}

// `reading_` marks the part of `taken_` that reads in `reads_` answer. If memory runs out, fail_all() answers the rest
// directly. Therefore each request is answered exactly once.
void UringReader::take_over() {
  taken_.clear();
  reading_ = 0;
  {
    const std::lock_guard lock(mutex_);
    std::swap(taken_, incoming_);
  }
  coalesce(taken_, options_.merge_gap_bytes, options_.merge_bytes, merged_);
  for (const MergedRead& merged : merged_) {
    if (merged.count == 1 && merged.length > kSplitBytes) {
      split(taken_[merged.first]);
    } else {
      UringRead& read = new_read(std::span(taken_).subspan(merged.first, merged.count));
      reading_ = merged.first + merged.count;
      waiting_.push_back(&read);
    }
  }
}

// Cuts at file offsets that are multiples of kSplitBytes, so that O_DIRECT pieces do not overlap.
void UringReader::split(const ReadRequest& request) {
  if (spare_splits_.empty()) add_spare(splits_, spare_splits_);
  SplitRequest& whole = *spare_splits_.back();
  spare_splits_.pop_back();
  whole = {request, 0, nullptr};
  const std::uint64_t end = request.extent.offset + request.extent.length;
  for (std::uint64_t at = request.extent.offset; at < end;) {
    const std::uint64_t next = std::min(end, (at / kSplitBytes + 1) * kSplitBytes);
    const ReadRequest piece{
        {request.extent.file, at, next - at}, request.destination + (at - request.extent.offset), request.tag};
    UringRead& read = new_read({&piece, 1});
    read.split = &whole;
    ++whole.pieces_left;
    reading_ = static_cast<std::size_t>(&request - taken_.data()) + 1;
    waiting_.push_back(&read);
    at = next;
  }
}

// A read is in use if and only if `requests` is not empty: the last step that may throw fills them, and recycle()
// clears them.
UringRead& UringReader::new_read(std::span<const ReadRequest> requests) {
  if (spare_.empty()) add_spare(reads_, spare_);
  UringRead& read = *spare_.back();
  const Extent& first = requests.front().extent;
  const Extent& last = requests.back().extent;
  read.file = first.file;
  read.begin = first.offset;
  read.end = last.offset + last.length;
  read.target.assign(requests, bin_);
  read.requests.assign(requests.begin(), requests.end());  // the last step that may throw
  spare_.pop_back();
  read.split = nullptr;
  read.open_direct = true;
  read.done = 0;
  read.attempts = 0;
  return read;
}

void UringReader::start_waiting() {
  while (!waiting_.empty() && in_flight_ < options_.depth) {
    UringRead& read = *waiting_.front();
    waiting_.pop_front();
    if (start(read)) continue;
    waiting_.push_front(&read);  // scratch is returned by the reads in flight
    return;
  }
}

// The first read of a file opens it through the ring. Later reads of that file wait in `opening_`.
bool UringReader::start(UringRead& read) {
  if (!read.open) read.open = core_->files.find_open(read.file);
  if (read.open) return ask_read(read);
  std::vector<UringRead*>& waiters = opening_[read.file];
  waiters.push_back(&read);
  if (waiters.size() == 1) ask_open(read);
  return true;
}

void UringReader::ask_open(UringRead& read) {
  try {
    read.path = core_->files.file(read.file).path.string();
  } catch (const Error&) {
    const std::exception_ptr failure = std::current_exception();
    const std::vector<UringRead*> waiters = std::move(opening_[read.file]);
    opening_.erase(read.file);
    for (UringRead* waiter : waiters) fail(*waiter, failure);
    return;
  }
  read.asked_open = std::chrono::steady_clock::now();
  int flags = core_->files.open_flags();
  if (!read.open_direct) flags &= ~O_DIRECT;
  io_uring_sqe* sqe = ring_->entry();
  io_uring_prep_openat(sqe, AT_FDCWD, read.path.c_str(), flags, 0);
  io_uring_sqe_set_data(sqe, &read);
  ++in_flight_;
}

bool UringReader::ask_read(UringRead& read) {
  const OpenFile& file = *read.open;
  const std::uint64_t align = file.offset_align;
  if (align != 0 && !take_scratch(read, align)) return false;
  std::uint64_t offset = 0;
  io_uring_sqe* sqe = ring_->entry();
  if (!read.scratch.empty()) {
    // After a short read `done` may be unaligned, so the read continues at the last aligned offset and repeats a few
    // bytes.
    const std::uint64_t from = read.done / align * align;
    offset = read.aligned_begin + from;
    read.asked = read.aligned_end - offset;
    io_uring_prep_read(sqe, file.fd, read.scratch.data() + from, static_cast<unsigned>(read.asked), offset);
  } else {
    const std::span<const iovec> parts = read.target.next();
    offset = read.begin + read.done;
    read.asked = total_bytes(parts);
    if (parts.size() == 1)
      io_uring_prep_read(sqe, file.fd, parts[0].iov_base, static_cast<unsigned>(read.asked), offset);
    else
      io_uring_prep_readv(sqe, file.fd, parts.data(), static_cast<unsigned>(parts.size()), offset);
  }
  io_uring_sqe_set_data(sqe, &read);
  core_->counters.issued(read.asked);
  ++in_flight_;
  return true;
}

// Returns false if scratch is required but none is free. An aligned request with an aligned destination needs none.
bool UringReader::take_scratch(UringRead& read, std::uint64_t align) {
  if (!read.scratch.empty()) return true;
  const auto memory = reinterpret_cast<std::uintptr_t>(read.requests.front().destination);
  const bool aligned = memory % read.open->memory_align == 0 && (read.begin + read.done) % align == 0 &&
                       read.end % align == 0 && read.done % align == 0;
  if (read.requests.size() == 1 && aligned) return true;
  const std::uint64_t begin = read.begin / align * align;
  const std::uint64_t end = (read.end + align - 1) / align * align;
  read.scratch = scratch_->take(static_cast<std::size_t>(end - begin));
  if (read.scratch.empty()) return false;
  read.aligned_begin = begin;
  read.aligned_end = end;
  read.done = 0;
  return true;
}

bool UringReader::wait() {
  const bool busy = in_flight_ != 0;
  const auto begin = std::chrono::steady_clock::now();
  const int result = io_uring_submit_and_wait(ring_->get(), 1);
  if (result < 0 && result != -EINTR && result != -EAGAIN && result != -EBUSY) {
    give_up(-result);
    return false;
  }
  io_uring_cqe* cqe = nullptr;
  while (io_uring_peek_cqe(ring_->get(), &cqe) == 0) {
    const std::uint64_t data = io_uring_cqe_get_data64(cqe);
    const std::int64_t answer = cqe->res;
    io_uring_cqe_seen(ring_->get(), cqe);
    if (data == kWake) {
      listening_ = false;
    } else if (data != kCancel) {
      --in_flight_;
      completed(*reinterpret_cast<UringRead*>(data), answer);
    }
  }
  if (busy) core_->counters.busy(std::chrono::steady_clock::now() - begin);
  return true;
}

// Waits for every operation: the kernel must not write to a destination after the thread has ended.
void UringReader::drain() {
  draining_ = true;
  if (in_flight_ != 0) {
    io_uring_sqe* sqe = ring_->entry();
    io_uring_prep_cancel64(sqe, 0, IORING_ASYNC_CANCEL_ANY);  // refused before Linux 5.19: the reads then run to their
                                                              // end
    io_uring_sqe_set_data64(sqe, kCancel);
  }
  if (listening_) wake();
  while ((in_flight_ != 0 || listening_) && wait()) {
  }
}

// Called when memory ran out. Fails all current reads; the loop then serves later requests as usual.
void UringReader::begin_anew(const std::exception_ptr& failure) {
  drain();
  draining_ = false;
  fail_all(failure);
}

// The ring itself failed, so reads inside it may still write to their destinations. broken() reports this, and the
// engine counts as abandoned.
void UringReader::give_up(int errnum) {
  std::vector<ReadRequest> incoming;
  {
    const std::lock_guard lock(mutex_);
    broken_ = errnum;
    incoming.swap(incoming_);
  }
  for (const ReadRequest& request : incoming) core_->answer(request.tag, core_->failure_of(request.extent, errnum));
  fail_all(caught([&] { throw Error::io(errnum, "cannot read"); }));
}

void UringReader::fail_all(const std::exception_ptr& failure) noexcept {
  waiting_.clear();
  opening_.clear();
  core_->fail(std::span(taken_).subspan(reading_), failure);
  reading_ = taken_.size();
  for (const auto& read : reads_)
    if (!read->requests.empty()) fail(*read, failure);
}

}  // namespace penstock
