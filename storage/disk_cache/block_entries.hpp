// Which samples have bytes in a block of a file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include <formats/extent.hpp>
#include <order/selection.hpp>
#include <order/windows/window_table.hpp>
#include <order/windows/windows.hpp>
#include <penstock/dataset.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Bytes of the blocks of each file; 0: nobody asks for those of that file.
using BlockBytes = std::function<std::uint64_t(std::uint32_t file)>;

/// Some blocks of a file, one behind the other.
struct BlockRun {
  std::uint32_t file;
  std::uint32_t first, last;
};

/// Where the rows of a loader's list lie, asked of the dataset's index. Used by one thread at a time.
class RowBlocks {
 public:
  /// All that is given must live as long; `windows` may be null.
  RowBlocks(const Dataset& dataset, const Program& program, const Selection& selection, const Windows* windows,
            const BlockBytes& block_bytes)
      : dataset_(dataset), program_(program), selection_(selection), windows_(windows), block_bytes_(block_bytes) {}
  /// Of a number in the list: those of all outputs, each run once or several times. Replaces `runs`.
  void list(std::uint64_t entry, std::vector<BlockRun>& runs);
  /// Stored bytes that one value has at a time, of some rows that stand for all; 0: none are read of files in stores.
  std::uint64_t mean_value();

 private:
  void add(std::uint64_t sample, const Output& output, std::vector<BlockRun>& runs);
  void add(const Extent& extent, std::vector<BlockRun>& runs);
  void add_block(std::uint32_t number, std::vector<BlockRun>& runs);

  const Dataset& dataset_;
  const Program& program_;
  const Selection& selection_;
  const Windows* windows_;
  const BlockBytes& block_bytes_;
  std::vector<Piece> pieces_;
  std::vector<WindowStep> steps_;
  std::uint64_t bytes_ = 0, values_ = 0;  // of extents met
};

/// The same from the side of blocks: 16 bytes for each run. Any number of threads may ask.
class BlockEntries {
 public:
  struct Run {
    std::uint32_t first, last;  ///< blocks
    std::uint32_t entry;        ///< number in the loader's list
    std::uint32_t reach;        ///< the last block of this run and all before it
  };
  /// Throws Error: unsupported, for lists of 2^32 samples and more; resource, "interrupted", when `stop` asks for it.
  BlockEntries(const Dataset& dataset, const Program& program, const Selection& selection, const Windows* windows,
               const BlockBytes& block_bytes, const std::stop_token& stop);

  /// By their first blocks.
  std::span<const Run> runs(std::uint32_t file) const;
  /// Calls visit(entry) for those that have bytes in the block.
  template <typename Visit>
  void each(std::uint32_t file, std::uint64_t block, const Visit& visit) const {
    const std::span<const Run> all = runs(file);
    std::size_t behind = behind_of(all, block);
    while (behind-- > 0 && all[behind].reach >= block)
      if (all[behind].last >= block) visit(all[behind].entry);
  }

 private:
  static std::size_t behind_of(std::span<const Run> all, std::uint64_t block);
  std::vector<std::vector<Run>> runs_;  // by file
};

}  // namespace penstock
