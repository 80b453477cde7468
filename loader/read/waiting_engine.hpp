// Makes an engine that answers later one for callers that wait.
#pragma once

#include <functional>
#include <memory>

#include <penstock/loader/read/read_engine.hpp>

namespace penstock {

/// submit() returns once all is answered, in the calling thread.
class WaitingEngine : public ReadEngine {
 public:
  /// `make`: the engine that reads, with the OnRead that it is to answer to.
  WaitingEngine(const std::function<std::unique_ptr<ReadEngine>(OnRead)>& make, OnRead on_read);
  ~WaitingEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  bool abandoned() const override { return engine_->abandoned(); }
  EngineKind kind() const override { return engine_->kind(); }
  bool synchronous() const override { return true; }
  void submit(std::span<const ReadRequest> requests) override;
  void cancel() noexcept override { engine_->cancel(); }
  EngineStats stats() const override { return engine_->stats(); }

 private:
  const OnRead on_read_;
  std::unique_ptr<ReadEngine> engine_;
};

}  // namespace penstock
