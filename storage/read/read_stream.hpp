// Reads extents ahead through an engine, in order, for a caller that consumes them one after the other.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

#include <formats/extent.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// One thread consumes; any thread answers. The memory must outlive the engine's last write: see ReadEngine::stop().
class ReadStream {
 public:
  /// `tag_base` separates its requests from those of other streams of the engine: tags are tag_base + a 32-bit number.
  /// `bytes` is the size of the read-ahead memory.
  ReadStream(std::uint64_t tag_base, std::size_t bytes) : tag_base_(tag_base), memory_(bytes) {}

  static constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 20;  ///< of one extent

  /// Requests `extents`; none may be empty or longer than kMostAtOnce. All earlier extents must have been consumed.
  void begin(ReadEngine& engine, std::vector<Extent> extents);
  /// Returns the bytes of the next extent, valid until the next call. Failed reads are retried twice.
  /// Throws the engine's Error; Error: resource, "interrupted", if `stop` requests it. The stream must not be used
  /// after that.
  std::span<const std::byte> next(const std::stop_token& stop);
  /// Called from the engine's OnRead.
  void answer(std::uint64_t tag, std::exception_ptr failure);

 private:
  struct Chunk {
    Extent extent;
    std::size_t begin;  // in memory_
    bool answered = false;
    std::exception_ptr failure = {};
    unsigned tries = 1;
  };
  bool make_room(std::size_t length, std::size_t& begin) const;
  void ask();
  ReadRequest request_of(const Chunk& chunk, std::uint64_t number);
  void release_taken();

  const std::uint64_t tag_base_;
  std::vector<std::byte> memory_;  // a ring: chunks are stored in order
  ReadEngine* engine_ = nullptr;
  std::vector<Extent> extents_;
  std::size_t asked_ = 0;  // of extents_
  bool taken_ = false;     // the consumer holds chunks_.front()

  std::mutex mutex_;  // guards the members below
  std::condition_variable_any answered_;
  std::deque<Chunk> chunks_;
  std::uint32_t first_ = 0;  // number of chunks_.front()
  std::size_t held_ = 0;     // bytes of chunks_
};

}  // namespace penstock
