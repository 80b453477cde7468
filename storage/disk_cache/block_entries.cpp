#include <algorithm>
#include <tuple>

#include <order/serving_field.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/block_entries.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kProbedRows = 256;

}  // namespace

void RowBlocks::list(std::uint64_t entry, std::vector<BlockRun>& runs) {
  runs.clear();
  const std::uint64_t row = selection_.sample(entry);
  for (const Output& output : program_.outputs()) {
    if (output.window == 0 || windows_ == nullptr) {
      add(row, output, runs);
      continue;
    }
    windows_->tables[output.window - 1]->steps(row, steps_);
    for (const WindowStep& step : steps_) add(step.sample, output, runs);
  }
}

void RowBlocks::add(std::uint64_t sample, const Output& output, std::vector<BlockRun>& runs) {
  if (!serving_field(dataset_, output, sample, pieces_)) return;
  for (const Piece& piece : pieces_) {
    if (piece.kind == Piece::Kind::extent) add(piece.extent, runs);
    if (piece.kind == Piece::Kind::block) add_block(piece.block, runs);
  }
}

// Adds all tiles if the block is a mosaic.
void RowBlocks::add_block(std::uint32_t number, std::vector<BlockRun>& runs) {
  const Block block = dataset_.block(number);
  if (!block.mosaic) return add(block.extent, runs);
  for (std::uint64_t tile = 0; tile < block.mosaic->tiles(); ++tile)
    add(dataset_.block(block.mosaic->first_block + static_cast<std::uint32_t>(tile)).extent, runs);
}

void RowBlocks::add(const Extent& extent, std::vector<BlockRun>& runs) {
  const std::uint64_t size = block_bytes_(extent.file);
  if (size == 0 || extent.length == 0) return;
  bytes_ += extent.length;
  ++values_;
  const std::uint64_t last = (extent.offset + extent.length - 1) / size;
  if (last >= ~std::uint32_t{0}) return;
  runs.push_back({.file = extent.file,
                  .first = static_cast<std::uint32_t>(extent.offset / size),
                  .last = static_cast<std::uint32_t>(last)});
}

std::uint64_t RowBlocks::mean_value() {
  const std::uint64_t rows = std::min(kProbedRows, selection_.listed);
  std::vector<BlockRun> runs;
  bytes_ = values_ = 0;
  for (std::uint64_t i = 0; i < rows; ++i) list(i * (selection_.listed / rows), runs);
  return values_ == 0 ? 0 : bytes_ / values_;
}

BlockEntries::BlockEntries(const Dataset& dataset, const Program& program, const Selection& selection,
                           const Windows* windows, const BlockBytes& block_bytes, const std::stop_token& stop)
    : runs_(dataset.file_count()) {
  if (selection.listed >= ~std::uint32_t{0}) throw Error::unsupported("a list of 2^32 or more samples");
  RowBlocks rows(dataset, program, selection, windows, block_bytes);
  std::vector<BlockRun> of_row;
  for (std::uint64_t entry = 0; entry < selection.listed; ++entry) {
    if (entry % 1024 == 0 && stop.stop_requested()) throw Error::resource("interrupted");
    rows.list(entry, of_row);
    std::ranges::sort(of_row, {}, [](const BlockRun& run) { return std::tie(run.file, run.first); });
    // Merges adjacent runs: the fields of a sample often touch.
    for (std::size_t i = 0; i < of_row.size();) {
      BlockRun run = of_row[i];
      while (++i < of_row.size() && of_row[i].file == run.file && of_row[i].first <= run.last + 1)
        run.last = std::max(run.last, of_row[i].last);
      runs_[run.file].push_back({run.first, run.last, static_cast<std::uint32_t>(entry), 0});
    }
  }
  for (std::vector<Run>& file : runs_) {
    if (stop.stop_requested()) throw Error::resource("interrupted");
    const auto by_block = [](const Run& run) { return std::tie(run.first, run.entry); };
    if (!std::ranges::is_sorted(file, {}, by_block)) std::ranges::sort(file, {}, by_block);
    std::uint32_t reach = 0;
    for (Run& run : file) run.reach = reach = std::max(reach, run.last);
    file.shrink_to_fit();
  }
}

std::span<const BlockEntries::Run> BlockEntries::runs(std::uint32_t file) const {
  return file < runs_.size() ? std::span<const Run>(runs_[file]) : std::span<const Run>();
}

std::size_t BlockEntries::behind_of(std::span<const Run> all, std::uint64_t block) {
  const auto behind =
      std::ranges::upper_bound(all, block, {}, [](const Run& run) -> std::uint64_t { return run.first; });
  return static_cast<std::size_t>(behind - all.begin());
}

}  // namespace penstock
