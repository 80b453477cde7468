// Reads extents of objects in stores. Merges neighbours into one request, and reads cached blocks from the local disk.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <base/thread.hpp>
#include <penstock/storage.hpp>
#include <storage/read/engine_core.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// Maximum size of a merged request. A longer extent is split into several requests that run in parallel.
inline constexpr std::uint64_t kLongestStoreRange = std::uint64_t{8} << 20;

/// A separate engine reads those files of the dataset that are not objects. Threads of the store, of that engine or,
/// with a cache, of this engine deliver the answers.
class StoreEngine : public ReadEngine {
 public:
  /// `local`: engine for files; null if there are none. `cache`: null for none. Throws Error: unsupported, if this
  /// build cannot read stores; resource, if no thread can be started for the cache.
  StoreEngine(const Dataset& dataset, const EngineOptions& options, OnRead on_read, std::unique_ptr<ReadEngine> local,
              std::shared_ptr<DiskCacheUse> cache);
  ~StoreEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  bool abandoned() const override { return abandoned_ || (local_ != nullptr && local_->abandoned()); }
  EngineKind kind() const override { return EngineKind::store; }
  bool synchronous() const override { return false; }
  unsigned threads() const override;
  void submit(std::span<const ReadRequest> requests) override;
  void cancel() noexcept override;
  EngineStats stats() const override;

 private:
  struct State;
  std::unique_ptr<ReadEngine> local_;
  std::shared_ptr<State> state_;  // shared with its threads
  std::vector<Thread> threads_;   // serve jobs from the cache
  bool abandoned_ = false;
};

}  // namespace penstock
