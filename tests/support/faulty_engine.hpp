// A read engine that misbehaves on purpose, around one that works.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <formats/extent.hpp>
#include <penstock/error.hpp>
#include <penstock/storage.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock::test {

/// What goes wrong. Conditions that are set are joined by "or"; numbers count requests from 0 in order of submission.
struct Faults {
  std::optional<std::uint64_t> fail_tag = {}, fail_nth = {}, fail_file = {};
  std::optional<std::uint64_t> fail_offset = {};  ///< requests that hold this byte of any file
  int error = EIO;                                ///< the failure: Error::io of it,
  bool corrupt = false;  ///< or Error::corrupt "file ends inside the field", as a short file gives
  unsigned times = ~0u;  ///< failures in all; later requests go through
  std::optional<std::uint64_t> lose_nth = {};  ///< this request is never answered: storage that hangs
  std::chrono::milliseconds delay{0};          ///< before each answer, on a thread of its own; order is kept
};

/// Wraps the engine that `make` makes for the OnRead it is given.
class FaultyEngine : public ReadEngine {
 public:
  using Make = std::function<std::unique_ptr<ReadEngine>(OnRead)>;

  FaultyEngine(const Make& make, Faults faults, OnRead on_read)
      : faults_(std::move(faults)), on_read_(std::move(on_read)) {
    if (faults_.delay.count() != 0) late_ = std::jthread([this](const std::stop_token& stop) { answer_late(stop); });
    inner_ = make([this](std::uint64_t tag, std::exception_ptr failure) { answer(tag, std::move(failure)); });
  }
  ~FaultyEngine() override { FaultyEngine::stop(kStopGrace); }

  bool stop(std::chrono::milliseconds grace) override {
    if (!stopped_.exchange(true)) {
      inner_stopped_ = inner_->stop(grace);
      late_ = {};  // asks it to stop, and waits
    }
    return inner_stopped_ && lost_ == 0;
  }
  bool abandoned() const override { return stopped_ && (inner_->abandoned() || lost_ != 0); }
  EngineKind kind() const override { return inner_->kind(); }
  bool synchronous() const override { return faults_.delay.count() == 0 && inner_->synchronous(); }
  EngineStats stats() const override { return inner_->stats(); }

  void submit(std::span<const ReadRequest> requests) override {
    std::vector<ReadRequest> good;
    for (const ReadRequest& request : requests) {
      const std::uint64_t number = submitted_++;
      if (faults_.lose_nth == number) {
        ++lost_;
      } else if (chosen(request, number) && failed_++ < faults_.times) {
        const ErrorContext where{.shard = "file " + std::to_string(request.extent.file),
                                 .offset = request.extent.offset};
        answer(request.tag, faults_.corrupt
                                ? std::make_exception_ptr(Error::corrupt("file ends inside the field", where))
                                : std::make_exception_ptr(Error::io(faults_.error, "cannot read", where)));
      } else {
        good.push_back(request);
      }
    }
    inner_->submit(good);
  }

  std::uint64_t submitted() const { return submitted_; }

 private:
  struct Answer {
    std::chrono::steady_clock::time_point due;
    std::uint64_t tag;
    std::exception_ptr failure;
  };

  bool chosen(const ReadRequest& request, std::uint64_t number) const {
    const Extent& extent = request.extent;
    return faults_.fail_tag == request.tag || faults_.fail_nth == number || faults_.fail_file == extent.file ||
           (faults_.fail_offset && *faults_.fail_offset >= extent.offset &&
            *faults_.fail_offset - extent.offset < extent.length);
  }

  void answer(std::uint64_t tag, std::exception_ptr failure) {
    if (faults_.delay.count() == 0) return on_read_(tag, std::move(failure));
    const std::lock_guard lock(mutex_);
    answers_.push_back({std::chrono::steady_clock::now() + faults_.delay, tag, std::move(failure)});
    changed_.notify_all();
  }

  void answer_late(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !answers_.empty(); })) {
      Answer next = std::move(answers_.front());
      answers_.pop_front();
      changed_.wait_until(lock, stop, next.due, [] { return false; });
      if (stop.stop_requested()) return;
      lock.unlock();
      on_read_(next.tag, std::move(next.failure));
      lock.lock();
    }
  }

  const Faults faults_;
  const OnRead on_read_;
  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<unsigned> failed_{0}, lost_{0};
  std::atomic<bool> stopped_{false};
  bool inner_stopped_ = true;
  std::mutex mutex_;  // guards answers_
  std::condition_variable_any changed_;
  std::deque<Answer> answers_;
  std::jthread late_;
  std::unique_ptr<ReadEngine> inner_;
};

}  // namespace penstock::test
