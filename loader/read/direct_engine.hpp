// Reads in the thread that asks: for data that is in memory, so that the copy is spread over the decoding workers.
#pragma once

#include <memory>

#include <penstock/loader/read/read_desk.hpp>
#include <penstock/loader/read/read_engine.hpp>
#include <penstock/loader/read/scatter.hpp>

namespace penstock {

/// One pread per request, answered before submit() returns. Correct, but slow, for data that is not in memory.
class DirectEngine : public ReadEngine {
 public:
  explicit DirectEngine(std::shared_ptr<ReadDesk> desk, AnswerFilter filter = {});
  ~DirectEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  EngineKind kind() const override { return EngineKind::direct; }
  bool synchronous() const override { return true; }
  void submit(std::span<const ReadRequest> requests) override;
  EngineStats stats() const override { return desk_->counters.total(); }

 private:
  void read(const ReadRequest& request);
  std::shared_ptr<ReadDesk> desk_;
  AnswerFilter filter_;
};

}  // namespace penstock
