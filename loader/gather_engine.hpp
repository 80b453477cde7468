// Copies out of mapped files: for many small reads of data that is in memory.
#pragma once

#include <memory>
#include <mutex>

#include <penstock/loader/lru_cache.hpp>
#include <penstock/loader/read_desk.hpp>
#include <penstock/loader/read_engine.hpp>

namespace penstock {

class MappedFile;

/// Answers before submit() returns. A record costs a memcpy instead of a system call; data that is not in memory is
/// faulted in page by page, which is slow. A file cut short is an Error like in any other engine.
class GatherEngine : public ReadEngine {
 public:
  explicit GatherEngine(std::shared_ptr<ReadDesk> desk);
  ~GatherEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  EngineKind kind() const override { return EngineKind::gather; }
  bool synchronous() const override { return true; }
  void submit(std::span<const ReadRequest> requests) override;
  EngineStats stats() const override { return desk_->counters.total(); }

 private:
  std::shared_ptr<const MappedFile> mapped(std::uint32_t file);
  void serve(std::span<const ReadRequest> requests);
  void copy(const ReadRequest& request, const MappedFile& file, std::uint64_t size);

  std::shared_ptr<ReadDesk> desk_;
  std::mutex mutex_;  // guards mappings_
  LruCache<MappedFile> mappings_;
};

}  // namespace penstock
