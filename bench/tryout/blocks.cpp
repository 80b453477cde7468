#include <algorithm>
#include <chrono>
#include <map>
#include <ranges>
#include <set>
#include <vector>

#include <bench/measure/units.hpp>
#include <bench/tryout/blocks.hpp>
#include <formats/extent.hpp>
#include <order/permutation/permutation.hpp>
#include <penstock/error.hpp>
#include <transforms/output.hpp>

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kNeighbours = 4096;  // samples to examine, so that most blocks are complete
// a block shuffle is examined if blocks are decompressed at least this often
constexpr double kOften = 1.5;
constexpr double kLeast = 0.02;  // share of a row's time that remains, however much is saved

std::set<std::uint32_t> fields_of(const Program& program) {
  std::set<std::uint32_t> fields;
  for (const Output& output : program.outputs())
    if (!output.sources.empty()) fields.insert(output.sources.front());
  return fields;
}

// The blocks that contain the sample's fields.
void blocks_of(const Dataset& dataset, std::uint64_t sample, const std::set<std::uint32_t>& fields,
               std::vector<std::uint32_t>& blocks) {
  std::vector<Piece> pieces;
  for (const std::uint32_t field : fields) {
    if (!dataset.locate(sample, field, pieces)) continue;
    for (const Piece& piece : pieces)
      if (piece.kind == Piece::Kind::block) blocks.push_back(piece.block);
  }
}

}  // namespace

Demands BlockTryout::of(Demands demands) const {
  // The time measured in quiet memory, or the same share of the loader's own time to bring rows, whichever is more.
  const double timed = (undone - wanted) * seconds, share = 1 - wanted / undone;
  for (RowDemand& row : demands.rows) {
    const double spared = std::max(timed, row.computes * row.bringing * share);
    row.computes = std::max(kLeast * row.computes, row.computes - spared);
    if (demands.storage.bytes_per_s > 0) row.bytes *= wanted / undone;
  }
  return demands;
}

std::optional<BlockTryout> tried_blocks(const Dataset& dataset, const Program& program, const Stats& stats,
                                        std::uint64_t seed, const HeldLimits& limits) {
  if (stats.blocks_undone == 0 || stats.samples == 0 || dataset.block_count() == 0) return {};
  const auto check = [&] {
    if (limits.keep_going && !limits.keep_going()) throw Error::resource("interrupted");
  };
  const std::set<std::uint32_t> fields = fields_of(program);
  const std::uint64_t neighbours = std::min(kNeighbours, dataset.size());
  const std::uint64_t first = (dataset.size() - neighbours) / 2;
  std::vector<std::uint32_t> blocks;
  for (std::uint64_t i = 0; i < neighbours; ++i) blocks_of(dataset, first + i, fields, blocks);
  std::map<std::uint32_t, std::uint64_t> samples_of;
  for (const std::uint32_t block : blocks) ++samples_of[block];
  if (samples_of.empty()) return {};
  BlockTryout tryout{.shuffle_block = std::ranges::max(samples_of | std::views::values),
                     .undone = static_cast<double>(stats.blocks_undone) / static_cast<double>(stats.samples),
                     .wanted = static_cast<double>(samples_of.size()) / static_cast<double>(neighbours)};
  if (tryout.undone < kOften * tryout.wanted || tryout.shuffle_block < 2) return {};

  const Permutation order(dataset.size(), seed, 0);
  std::size_t undone = 0;
  const auto begin = Clock::now();
  const auto since = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(limits.samples, dataset.size()); ++i) {
    check();
    if (undone > 0 && since() > limits.seconds) break;
    const std::uint64_t sample = order(i);
    blocks.clear();
    blocks_of(dataset, sample, fields, blocks);
    for (const std::uint32_t field : fields)
      if (std::vector<Piece> of_field; dataset.locate(sample, field, of_field)) read_field(dataset, sample, field);
    undone += blocks.size();
  }
  if (undone == 0) return {};
  tryout.seconds = since() / static_cast<double>(undone);
  return tryout;
}

Gain gain_of(const BlockTryout& blocks, const Forecast& forecast) {
  LoaderOptions options = forecast.options();
  options.shuffle_block = blocks.shuffle_block;
  const Outlook outlook = forecast.elsewhere(blocks.of(forecast.demands()), forecast.machine(), options);
  const double ratio = outlook.samples_per_s / forecast.rate(forecast.options());
  const std::string value = std::to_string(blocks.shuffle_block);
  return {.knob = "shuffle_block",
          .value = value,
          .options = options,
          .samples_per_s = outlook.samples_per_s,
          .ratio = ratio,
          .limit = outlook.limit,
          .text = "shuffle_block=" + value + ": " + (ratio >= 1 ? "+" : "") + fixed(100 * (ratio - 1), 0) + " %" +
                  (outlook.limit.empty() ? "" : ", limited then by " + outlook.limit) +
                  ", filtered blocks decompressed " + fixed(blocks.wanted / blocks.undone, 2) + " times as often"};
}

}  // namespace penstock
