// An engine that reads through io_uring. Use it for data that is not in memory.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <base/thread.hpp>
#include <penstock/storage.hpp>
#include <storage/read/engine_core.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/read_vector.hpp>
#include <storage/uring/uring_refusal.hpp>

namespace penstock {

class UringReader;

/// Runs one ring per reader thread. Each submission goes to one reader, which merges nearby requests and splits long
/// ones.
class UringEngine : public ReadEngine {
 public:
  /// Throws Error: io, with the errno of io_uring_setup; resource, if a thread cannot be started; unsupported, if built
  /// without liburing.
  UringEngine(std::shared_ptr<EngineCore> core, const EngineOptions& options, AnswerFilter filter = {});
  ~UringEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  bool abandoned() const override { return abandoned_; }
  EngineKind kind() const override { return EngineKind::io_uring; }
  bool synchronous() const override { return false; }
  unsigned threads() const override { return static_cast<unsigned>(threads_.size()); }
  void submit(std::span<const ReadRequest> requests) override;
  EngineStats stats() const override { return core_->counters.total(); }

 private:
  void start_reader(const EngineOptions& options, const AnswerFilter& filter);

  std::shared_ptr<EngineCore> core_;
  std::vector<std::shared_ptr<UringReader>> readers_;  // shared with the threads: a stuck read may outlive the engine
  std::vector<Thread> threads_;
  std::atomic<std::size_t> next_{0};  // relaxed: only distributes submissions over the readers
  bool abandoned_ = false;
};

}  // namespace penstock
