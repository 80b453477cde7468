// An engine that copies from mapped files. Use it for resident data in many small records, or for rows used as stored.
#pragma once

#include <memory>
#include <mutex>

#include <base/lru_cache.hpp>
#include <penstock/storage.hpp>
#include <storage/read/engine_core.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

class MappedFile;

/// Answers before submit() returns. A record costs a memcpy instead of a system call, and a long row about two thirds
/// of the kernel's own copy. Data that is not in memory is faulted in page by page, which is slow. A truncated file
/// gives an Error as in any other engine. A file that cannot be mapped is read with pread.
class GatherEngine : public ReadEngine {
 public:
  static constexpr std::size_t kMappings = 512;  ///< kept mappings: far below the system's limit of 65,530 per process

  /// `scattered`: records are spread over the file, so the kernel must not read ahead.
  explicit GatherEngine(std::shared_ptr<EngineCore> core, bool scattered = true);
  ~GatherEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  EngineKind kind() const override { return EngineKind::mmap; }
  bool synchronous() const override { return true; }
  void submit(std::span<const ReadRequest> requests) override;
  EngineStats stats() const override { return core_->counters.total(); }

 private:
  std::shared_ptr<const MappedFile> mapped(std::uint32_t file);
  void serve(std::span<const ReadRequest> requests);
  void read(const ReadRequest& request, const OpenFile& file);
  void copy(const ReadRequest& request, const MappedFile& file, std::uint64_t size);

  std::shared_ptr<EngineCore> core_;
  const bool scattered_;
  std::mutex mutex_;  // guards mappings_
  LruCache<MappedFile> mappings_;
};

}  // namespace penstock
