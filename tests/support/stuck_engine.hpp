// Storage that does not answer: reads are swallowed, or block their worker, until they are released.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include <penstock/storage.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock::test {

/// What holds the readers of a StuckEngine; opened at the end of a test so that its threads can end.
class Latch {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    {
      const std::scoped_lock lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

class StuckEngine : public ReadEngine {
 public:
  StuckEngine(bool synchronous, std::shared_ptr<Latch> latch) : synchronous_(synchronous), latch_(std::move(latch)) {}
  EngineKind kind() const override { return synchronous_ ? EngineKind::in_worker : EngineKind::pread; }
  bool synchronous() const override { return synchronous_; }
  void submit(std::span<const ReadRequest>) override {
    if (synchronous_) latch_->wait();
  }
  EngineStats stats() const override { return {}; }

 private:
  bool synchronous_;
  std::shared_ptr<Latch> latch_;
};

}  // namespace penstock::test
