// An engine that reads in the calling thread. Use it for resident data: all workers share the copying.
#pragma once

#include <memory>

#include <penstock/storage.hpp>
#include <storage/read/engine_core.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/read_vector.hpp>

namespace penstock {

/// Calls pread once per request and answers before submit() returns. Correct but slow for data that is not in memory.
class InWorkerEngine : public ReadEngine {
 public:
  explicit InWorkerEngine(std::shared_ptr<EngineCore> core, AnswerFilter filter = {});
  ~InWorkerEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  EngineKind kind() const override { return EngineKind::in_worker; }
  bool synchronous() const override { return true; }
  void submit(std::span<const ReadRequest> requests) override;
  EngineStats stats() const override { return core_->counters.total(); }

 private:
  void read(const ReadRequest& request);
  std::shared_ptr<EngineCore> core_;
  AnswerFilter filter_;
};

}  // namespace penstock
