// A read of a filtered block's stored bytes, for which several row tasks may wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <penstock/formats/extent.hpp>
#include <penstock/storage/read/read_engine.hpp>
#include <storage/read/window.hpp>

namespace penstock {

struct RowTask;
struct PendingRead;

/// Shared by its tasks; the last one gives its memory back to the read window.
class BlockRead {
 public:
  /// `buffer` is lent from the window.
  BlockRead(std::uint32_t block, const Extent& extent, ReadWindow& window, std::byte* buffer);
  ~BlockRead();
  BlockRead(const BlockRead&) = delete;
  BlockRead& operator=(const BlockRead&) = delete;

  std::uint32_t block() const { return block_; }
  ReadRequest request();
  /// True where the bytes are still to come: the task's arrived() is called when they are there.
  bool join(RowTask& task);
  /// Called once, when the engine has answered.
  void arrived(std::exception_ptr failure);
  /// For the tasks, once they are whole. Nothing where the read failed.
  std::optional<std::span<const std::byte>> bytes() const;

 private:
  const std::uint32_t block_;
  const Extent extent_;
  ReadWindow& window_;
  std::byte* const buffer_;
  mutable std::mutex mutex_;  // guards all below
  bool there_ = false, failed_ = false;
  std::vector<RowTask*> waiting_;
  std::unique_ptr<PendingRead> pending_;
};

/// Finds the block reads that are under way. For one thread.
class BlockReads {
 public:
  std::shared_ptr<BlockRead> find(std::uint32_t block) const;
  void add(const std::shared_ptr<BlockRead>& read);

 private:
  std::unordered_map<std::uint32_t, std::weak_ptr<BlockRead>> reads_;
  std::size_t prune_at_ = 1024;
};

}  // namespace penstock
