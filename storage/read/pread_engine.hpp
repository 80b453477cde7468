// An engine whose threads call pread, for systems that do not allow io_uring.
#pragma once

#include <memory>
#include <vector>

#include <base/thread.hpp>
#include <penstock/storage.hpp>
#include <storage/read/engine_core.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/read_vector.hpp>

namespace penstock {

/// The number of threads is the number of reads in flight, so it depends on the storage and not on the cores. Nearby
/// requests of a submission are merged. O_DIRECT is not used.
class PreadEngine : public ReadEngine {
 public:
  /// Throws Error: resource, if a thread cannot be started.
  PreadEngine(std::shared_ptr<EngineCore> core, const EngineOptions& options, AnswerFilter filter = {});
  ~PreadEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  bool abandoned() const override { return abandoned_; }
  EngineKind kind() const override { return EngineKind::pread; }
  bool synchronous() const override { return false; }
  unsigned threads() const override { return static_cast<unsigned>(threads_.size()); }
  void submit(std::span<const ReadRequest> requests) override;
  EngineStats stats() const override;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the threads: a stuck read may outlive the engine
  std::vector<Thread> threads_;
  bool abandoned_ = false;
};

}  // namespace penstock
