// Reads extents of objects in stores: neighbours in one request, with what the disk cache has taken from its disk.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <base/thread.hpp>
#include <penstock/storage.hpp>
#include <storage/read/engine_core.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// Neighbours are joined into requests of so many bytes at most. A longer range is asked for in several, which come
/// side by side.
inline constexpr std::uint64_t kLongestStoreRange = std::uint64_t{8} << 20;

/// Files of the dataset that are no objects go to an engine of their own. Answers come from threads of the store, of
/// that engine, or, where there is a cache, of this one.
class StoreEngine : public ReadEngine {
 public:
  /// `local`: for files, null where there are none. `cache`: null without one. Throws Error: unsupported, where stores
  /// cannot be read here; resource, where there is no thread for the cache.
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
  std::vector<Thread> threads_;   // of the cache
  bool abandoned_ = false;
};

}  // namespace penstock
