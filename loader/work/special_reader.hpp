// Provides the pieces of a fetch that the engine does not read: inline bytes of the index, fill values, and slices of
// filtered blocks.
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

/// Each worker thread has one, and only that thread reads. Other threads help to decompress a row with many blocks.
class SpecialReader {
 public:
  /// `direct` must be synchronous. `reads` records read times; it may be null. `parallel`: threads that may help;
  /// null: none. All must outlive the reader.
  SpecialReader(const Dataset& dataset, ReadEngine& direct, BlockCache& blocks, ReadRecord* reads, Parallel* parallel)
      : dataset_(dataset), direct_(direct), blocks_(blocks), reads_(reads), parallel_(parallel) {}

  /// Writes all of fetch.specials(); those without a slot go to `buffer`. `ahead` may contain some blocks in stored
  /// form; it may be null. I/O errors are tried three times. Throws Error: io, corrupt, unsupported: the error of the
  /// first piece, in order, that fails.
  void read(const Fetch& fetch, std::byte* buffer, const RowTask* ahead);
  std::uint64_t asked_bytes() const { return asked_; }  ///< total bytes of blocks that were read here

 private:
  /// A block's stored bytes. Other threads may decompress it.
  struct Stored {
    std::uint64_t number;  ///< number of the special, or of the tile
    Block block;
    std::span<const std::byte> bytes;  ///< in the read window or in stored_; null before they are read
  };
  using Filters = std::vector<std::byte>;  ///< scratch of filters, no larger than a decompressed block

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
  std::vector<Stored> wave_;         // blocks that are decompressed together
  std::vector<std::size_t> starts_;  // of each piece of the wave: its first block
  std::vector<std::uint8_t> done_;   // by special: 1 if its bytes are already written
  ScratchMemory stored_;
  Filters filters_;
  std::uint64_t asked_ = 0;
};

}  // namespace penstock
