// Brings what of a fetch no plain read does: bytes of the index, fill values, and slices of filtered blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include <formats/extent.hpp>
#include <formats/mosaic.hpp>
#include <loader/fetch/block_cache.hpp>
#include <loader/fetch/fetch.hpp>
#include <loader/fetch/row_task.hpp>
#include <penstock/codec.hpp>
#include <penstock/dataset.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/decoders.hpp>

namespace penstock {

/// One per worker thread, which alone reads; filters of a row with many blocks are undone by others too.
class SpecialReader {
 public:
  /// `direct` must be synchronous. `reads`: null, or is told how long they took. `parallel`: null, or
  /// threads that may help. All must outlive the reader.
  SpecialReader(const Dataset& dataset, ReadEngine& direct, BlockCache& blocks, ReadRecord* reads, Parallel* parallel)
      : dataset_(dataset), direct_(direct), blocks_(blocks), reads_(reads), parallel_(parallel) {}

  /// Writes all of fetch.specials(); those without a slot go to `buffer`. `ahead`: null, or has some blocks as they are
  /// stored. I/O errors are tried three times. Throws Error: io, corrupt, unsupported: that of the first piece, in
  /// order, that cannot be had.
  void read(const Fetch& fetch, std::byte* buffer, const RowTask* ahead);
  std::uint64_t asked_bytes() const { return asked_; }  ///< of blocks that were read here, so far

 private:
  /// A block's stored bytes, which others may undo.
  struct Stored {
    std::uint64_t number;  ///< of the special, or of the tile, that it is
    Block block;
    std::span<const std::byte> bytes;  ///< in the read window, or in stored_; null before they are read
  };
  using Filters = std::vector<std::byte>;  ///< scratch of filters: a block's undone bytes at most

  std::size_t undo_together(std::span<const Fetch::Special> specials, std::size_t from, std::byte* buffer,
                            const RowTask* ahead);
  void copy(const Piece& piece, std::byte* destination, const RowTask* ahead);
  void put_together(const Mosaic& mosaic, std::vector<std::byte>& whole);
  std::uint64_t decoded_bytes() const;  ///< of the wave
  std::exception_ptr read_wave();
  template <class Undo>
  void share_wave(const Undo& undo);
  std::span<const std::byte> read_stored(const Block& block, std::byte* memory);

  const Dataset& dataset_;
  ReadEngine& direct_;
  BlockCache& blocks_;
  ReadRecord* const reads_;
  Parallel* const parallel_;
  std::vector<Stored> wave_;         // blocks that are undone together
  std::vector<std::size_t> starts_;  // of each piece of the wave, its first block
  std::vector<std::uint8_t> done_;   // by special: 1 where its bytes are there already
  ScratchMemory stored_;
  Filters filters_;
  std::uint64_t asked_ = 0;
};

}  // namespace penstock
