// An engine of threads that call pread, for systems where io_uring is not allowed.
#pragma once

#include <memory>
#include <vector>

#include <base/thread.hpp>
#include <penstock/storage.hpp>
#include <storage/read/engine_core.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/read_vector.hpp>

namespace penstock {

/// The number of threads is the number of reads in flight: it follows the storage, not the cores. Close requests of a
/// submission are read as one. O_DIRECT is not used.
class PreadEngine : public ReadEngine {
 public:
  /// Throws Error: resource, when a thread cannot be started.
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
  std::shared_ptr<State> state_;  // shared with the threads, which a stuck read may keep beyond the engine
  std::vector<Thread> threads_;
  bool abandoned_ = false;
};

}  // namespace penstock
