// Maps the blocks of a file to the samples that have bytes in them.
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

/// Returns the block size of each file; 0 if the file is not cached.
using BlockBytes = std::function<std::uint64_t(std::uint32_t file)>;

/// Consecutive blocks of a file, from `first` to `last`.
struct BlockRun {
  std::uint32_t file;
  std::uint32_t first, last;
};

/// Finds the blocks that each row of a loader's list reads, through the dataset's index. Not thread-safe.
class RowBlocks {
 public:
  /// All references must outlive this object; `windows` may be null.
  RowBlocks(const Dataset& dataset, const Program& program, const Selection& selection, const Windows* windows,
            const BlockBytes& block_bytes)
      : dataset_(dataset), program_(program), selection_(selection), windows_(windows), block_bytes_(block_bytes) {}
  /// Lists the runs of blocks of one entry of the list, over all outputs. A run may occur several times. Replaces
  /// `runs`.
  void list(std::uint64_t entry, std::vector<BlockRun>& runs);
  /// Returns the mean number of stored bytes that one read of a value requests, from a sample of rows. 0: no value is
  /// read from a file with blocks.
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
  std::uint64_t bytes_ = 0, values_ = 0;  // of the extents seen
};

/// The inverse map: from blocks to entries of the list, with 16 bytes per run. Thread-safe.
class BlockEntries {
 public:
  struct Run {
    std::uint32_t first, last;  ///< block numbers
    std::uint32_t entry;        ///< number in the loader's list
    std::uint32_t reach;        ///< largest `last` of this run and all earlier ones; each() stops by it
  };
  /// Throws Error: unsupported, for lists of 2^32 or more samples; resource, "interrupted", if `stop` requests it.
  BlockEntries(const Dataset& dataset, const Program& program, const Selection& selection, const Windows* windows,
               const BlockBytes& block_bytes, const std::stop_token& stop);

  /// Returns the runs, sorted by their first block.
  std::span<const Run> runs(std::uint32_t file) const;
  /// Calls visit(entry) for each entry that has bytes in the block.
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
