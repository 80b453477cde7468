#include <utility>

#include <penstock/error.hpp>
#include <storage/read/read_stream.hpp>

namespace penstock {
namespace {

constexpr unsigned kMostTries = 3;

bool may_succeed_later(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::io;
  } catch (...) {
    return false;
  }
}

}  // namespace

void ReadStream::begin(ReadEngine& engine, std::vector<Extent> extents) {
  release_taken();
  engine_ = &engine;
  extents_ = std::move(extents);
  asked_ = 0;
  ask();
}

std::span<const std::byte> ReadStream::next(const std::stop_token& stop) {
  release_taken();
  ask();
  std::unique_lock lock(mutex_);
  while (true) {
    const bool answered = answered_.wait(lock, stop, [this] { return chunks_.front().answered; });
    if (!answered || stop.stop_requested()) throw Error::resource("interrupted");
    Chunk& chunk = chunks_.front();
    if (!chunk.failure) break;
    if (!may_succeed_later(chunk.failure) || chunk.tries == kMostTries) std::rethrow_exception(chunk.failure);
    ++chunk.tries;
    chunk.answered = false;
    chunk.failure = nullptr;
    const ReadRequest again = request_of(chunk, first_);
    lock.unlock();
    engine_->submit({&again, 1});
    lock.lock();
  }
  taken_ = true;
  const Chunk& chunk = chunks_.front();
  return std::span<const std::byte>(memory_).subspan(chunk.begin, chunk.extent.length);
}

void ReadStream::answer(std::uint64_t tag, std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  Chunk& chunk = chunks_[static_cast<std::uint32_t>(tag - tag_base_) - first_];
  chunk.failure = std::move(failure);
  chunk.answered = true;
  if (&chunk == &chunks_.front()) answered_.notify_one();
}

void ReadStream::release_taken() {
  if (!std::exchange(taken_, false)) return;
  const std::lock_guard lock(mutex_);
  held_ -= chunks_.front().extent.length;
  chunks_.pop_front();
  ++first_;
}

// Asks once half of the memory is free, so that many small reads reach the engine in one submission.
void ReadStream::ask() {
  std::vector<ReadRequest> requests;
  {
    const std::lock_guard lock(mutex_);
    if (!chunks_.empty() && held_ > memory_.size() / 2) return;
    for (; asked_ < extents_.size(); ++asked_) {
      std::size_t begin = 0;
      if (!make_room(extents_[asked_].length, begin)) break;
      chunks_.push_back({.extent = extents_[asked_], .begin = begin});
      held_ += extents_[asked_].length;
      requests.push_back(request_of(chunks_.back(), first_ + static_cast<std::uint32_t>(chunks_.size() - 1)));
    }
  }
  if (!requests.empty()) engine_->submit(requests);  // a synchronous engine answers during the call
}

// Places a chunk after the last one or, if it does not fit, at the beginning of the ring. A chunk never ends exactly at
// the first one: a full ring would look empty.
bool ReadStream::make_room(std::size_t length, std::size_t& begin) const {
  if (chunks_.empty()) return true;
  const std::size_t first = chunks_.front().begin;
  const std::size_t end = chunks_.back().begin + chunks_.back().extent.length;
  if (end > first) {
    begin = length <= memory_.size() - end ? end : 0;
    return begin != 0 || length < first;
  }
  begin = end;
  return length < first - end;
}

ReadRequest ReadStream::request_of(const Chunk& chunk, std::uint64_t number) {
  return {.extent = chunk.extent,
          .destination = memory_.data() + chunk.begin,
          .tag = tag_base_ + static_cast<std::uint32_t>(number)};
}

}  // namespace penstock
