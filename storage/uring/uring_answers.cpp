// Handles the ring's completions: continues short reads, and answers requests.
#include <cerrno>
#include <cstring>
#include <utility>

#include <unistd.h>

#include <storage/read/read_engine.hpp>
#include <storage/uring/uring_reader.hpp>

namespace penstock {

void UringReader::completed(UringRead& read, std::int64_t answer) {
  if (!read.open) return opened(read, answer);
  if (draining_) return;
  if (filter_) answer = filter_(answer);
  if (answer < 0) return failed_answer(read, static_cast<int>(-answer));
  const auto bytes = static_cast<std::uint64_t>(answer);
  if (bytes < read.asked) core_->counters.retried();
  if (read.scratch.empty())
    into_destinations(read, bytes);
  else
    into_scratch(read, bytes);
}

void UringReader::opened(UringRead& read, std::int64_t answer) {
  if (draining_) {
    if (answer >= 0) close(static_cast<int>(answer));
    return;
  }
  if (answer == -EINTR || (answer == -EAGAIN && ++read.attempts < kAttempts)) return ask_open(read);
  if (answer == -EINVAL && options_.direct_io && read.open_direct) {
    read.open_direct = false;
    return ask_open(read);
  }
  std::vector<UringRead*> waiters = std::move(opening_[read.file]);
  opening_.erase(read.file);
  std::shared_ptr<const OpenFile> file;
  const auto failure = caught([&] {
    if (answer < 0) throw Error::io(static_cast<int>(-answer), "cannot open", {.shard = core_->files.shard(read.file)});
    file = core_->files.adopt(read.file, static_cast<int>(answer), options_.direct_io && read.open_direct);
    core_->counters.opened(std::chrono::steady_clock::now() - read.asked_open);
  });
  for (auto waiter = waiters.rbegin(); waiter != waiters.rend(); ++waiter) {
    if (failure != nullptr) {
      fail(**waiter, failure);
    } else {
      (*waiter)->open = file;
      waiting_.push_front(*waiter);
    }
  }
}

void UringReader::failed_answer(UringRead& read, int errnum) {
  if (errnum == EINTR || (errnum == EAGAIN && ++read.attempts < kAttempts)) {
    core_->counters.retried();
    return ask_again(read);
  }
  if (errnum == EAGAIN) return finish_with_pread(read);
  if (errnum == EINVAL && read.open->direct_io()) return read_buffered(read);
  finish(read, read.scratch.empty() ? read.done : 0, errnum);
}

void UringReader::into_destinations(UringRead& read, std::uint64_t bytes) {
  if (bytes == 0) return read.open->direct_io() ? finish_with_pread(read) : finish(read, read.done, 0);
  read.attempts = 0;
  read.done += bytes;
  read.target.advance(bytes);
  if (read.target.full()) return finish(read, read.done, 0);
  // O_DIRECT may return any number of bytes at the end of the file, and cannot continue from an unaligned offset.
  if (read.open->direct_io() && read.done % read.open->offset_align != 0) return finish_with_pread(read);
  ask_again(read);
}

void UringReader::into_scratch(UringRead& read, std::uint64_t bytes) {
  const std::uint64_t align = read.open->offset_align;
  const std::uint64_t got = read.done / align * align + bytes;
  if (got <= read.done) return finish_with_pread(read);  // most likely the end of the file; pread decides
  read.attempts = 0;
  read.done = got;
  if (read.aligned_begin + got < read.end) return ask_again(read);
  for (const ReadRequest& request : read.requests)
    std::memcpy(request.destination, read.scratch.data() + (request.extent.offset - read.aligned_begin),
                static_cast<std::size_t>(request.extent.length));
  finish(read, read.end - read.begin, 0);
}

void UringReader::ask_again(UringRead& read) {
  waiting_.push_front(&read);
}

// Some file systems accept O_DIRECT in open() but refuse it in read().
void UringReader::read_buffered(UringRead& read) {
  if (const auto failure = caught([&] { read.open = core_->files.open_buffered(read.file, true); }))
    return fail(read, failure);
  if (!read.scratch.empty()) scratch_->give_back(std::exchange(read.scratch, {}));
  read.target.assign(read.requests, bin_);
  read.done = 0;
  ask_again(read);
}

void UringReader::finish_with_pread(UringRead& read) {
  ReadEnd end;
  const auto failure = caught([&] {
    const auto file = read.open->direct_io() ? core_->files.open_buffered(read.file, false) : read.open;
    read.target.assign(read.requests, bin_);
    end = read_fully(file->fd, read.begin, read.target, core_->counters, filter_,
                     [this] { return core_->gate.closed(); });
  });
  if (failure != nullptr) return fail(read, failure);
  finish(read, end.bytes, end.errnum);
}

// Answers the read: `bytes` of it are in their destinations, and no more will follow.
void UringReader::finish(UringRead& read, std::uint64_t bytes, int errnum) {
  if (read.split != nullptr) {
    const bool whole = read.begin + bytes >= read.end;
    answer_piece(read, whole ? nullptr : core_->failure_of(read.split->request.extent, errnum));
  } else if (errnum != 0 && read.requests.size() > 1) {
    // A bad sector in one request must not fail its neighbours, so each request is read again separately.
    while (!read.requests.empty()) {
      UringRead& alone = new_read({&read.requests.back(), 1});
      read.requests.pop_back();
      waiting_.push_front(&alone);
    }
  } else {
    core_->answer_merged(read.requests, read.begin, bytes, errnum);
  }
  recycle(read);
}

void UringReader::fail(UringRead& read, const std::exception_ptr& failure) noexcept {
  if (read.split != nullptr)
    answer_piece(read, core_->located(failure, read.split->request.extent));
  else
    core_->fail(read.requests, failure);
  recycle(read);
}

void UringReader::answer_piece(UringRead& read, std::exception_ptr failure) noexcept {
  SplitRequest& whole = *read.split;
  if (failure && !whole.failure) whole.failure = std::move(failure);
  if (--whole.pieces_left != 0) return;
  core_->answer(whole.request.tag, std::exchange(whole.failure, nullptr));
  spare_splits_.push_back(&whole);
}

void UringReader::recycle(UringRead& read) noexcept {
  if (!read.scratch.empty()) scratch_->give_back(std::exchange(read.scratch, {}));
  read.open.reset();
  read.requests.clear();
  spare_.push_back(&read);
}

}  // namespace penstock
