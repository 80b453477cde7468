// Reads extents in order and ahead through an engine, for a caller that takes them one after the other.
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

/// One thread takes; any thread answers. Its memory must outlive the engine's last write: see ReadEngine::stop().
class ReadStream {
 public:
  /// `tag_base` tells its requests from those of other streams of the engine: their tags are tag_base + a number of 32
  /// bits. `bytes` is the memory for what is read ahead.
  ReadStream(std::uint64_t tag_base, std::size_t bytes) : tag_base_(tag_base), memory_(bytes) {}

  static constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 20;  ///< of one extent

  /// Asks for `extents`, none of them empty or longer than kMostAtOnce. All earlier ones were taken.
  void begin(ReadEngine& engine, std::vector<Extent> extents);
  /// The bytes of the next extent, until the next call. Reads that fail are tried again twice.
  /// Throws the engine's Error; Error: resource, "interrupted", when `stop` asks for it. The stream is over then.
  std::span<const std::byte> next(const std::stop_token& stop);
  /// From the engine's OnRead.
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
  std::vector<std::byte> memory_;  // a ring: chunks lie in it in order
  ReadEngine* engine_ = nullptr;
  std::vector<Extent> extents_;
  std::size_t asked_ = 0;  // of extents_
  bool taken_ = false;     // chunks_.front() is in the taker's hands

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any answered_;
  std::deque<Chunk> chunks_;
  std::uint32_t first_ = 0;  // number of chunks_.front()
  std::size_t held_ = 0;     // bytes of chunks_
};

}  // namespace penstock
