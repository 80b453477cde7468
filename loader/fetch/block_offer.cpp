#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <formats/extent.hpp>
#include <loader/fetch/block_offer.hpp>
#include <order/permutation/sample_order.hpp>
#include <order/plan.hpp>
#include <order/serving_field.hpp>
#include <penstock/error.hpp>
#include <storage/read/coalesce.hpp>
#include <storage/read/store_engine.hpp>
#include <transforms/output.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kRows = 2048, kBatches = 4;  // sample sizes of the estimate
// Candidates for a block's size, as fractions of a batch's share of a block.
constexpr std::array<std::uint64_t, 4> kParts{1, 2, 3, 4};
constexpr double kWorth = 1.5;  // at least this many times fewer requests justify the offer

/// The rows' demand on the store.
struct Asked {
  double rows = 0, requests = 0, extents = 0, bytes = 0;
  double requests_of_row() const { return rows > 0 ? requests / rows : 0; }
};

class RequestCount {
 public:
  RequestCount(const Dataset& dataset, const Program& program, const OrderOptions& order, const EngineOptions& engine,
               const Selection& selection)
      : dataset_(dataset), program_(program), order_(order), engine_(engine), selection_(selection) {}

  Asked with(std::uint64_t shuffle_block) {
    PlanOptions order = plan_options(order_, selection_);
    order.shuffle_block = shuffle_block;
    const Plan plan(order, 0);
    const std::uint64_t batches = std::clamp<std::uint64_t>(kRows / order.batch_size, 1, kBatches);
    asked_ = {};
    std::vector<Row> rows;
    for (std::uint64_t batch = 0; batch < batches && plan.has(batch); ++batch) {
      plan.batch(batch, rows);
      for (const Row& row : rows) add(selection_.sample(row.sample));
      send();
    }
    return asked_;
  }

 private:
  void add(std::uint64_t sample) {
    std::set<std::uint32_t> fields;
    for (const Output& output : program_.outputs()) {
      const auto field = serving_field(dataset_, output, sample, pieces_);
      if (!field || !fields.insert(*field).second) continue;
      for (const Piece& piece : pieces_)
        if (piece.kind == Piece::Kind::extent && piece.extent.length != 0)
          requests_.push_back({.extent = piece.extent, .destination = nullptr, .tag = 0});
    }
    ++asked_.rows;
    while (counted_ < requests_.size()) bytes_ += requests_[counted_++].extent.length;
    if (bytes_ >= engine_.block_window) send();
  }
  // Sends the planned requests at the end of a batch, or when the read window is full.
  void send() {
    asked_.extents += static_cast<double>(requests_.size());
    asked_.bytes += static_cast<double>(bytes_);
    coalesce(requests_, engine_.merge_gap_bytes, kLongestStoreRange, reads_);
    for (const MergedRead& read : reads_)
      asked_.requests += static_cast<double>((read.length + kLongestStoreRange - 1) / kLongestStoreRange);
    requests_.clear();
    counted_ = bytes_ = 0;
  }

  const Dataset& dataset_;
  const Program& program_;
  const OrderOptions& order_;
  const EngineOptions& engine_;
  const Selection& selection_;
  Asked asked_;
  std::vector<ReadRequest> requests_;
  std::vector<MergedRead> reads_;
  std::vector<Piece> pieces_;
  std::size_t counted_ = 0;
  std::uint64_t bytes_ = 0;
};

bool is_full_shuffle(const OrderOptions& options, const Selection& selection) {
  return options.shuffle && options.shuffle_block.value_or(0) == 0 && options.shuffle_window == 0 &&
         selection.mixed == nullptr && selection.draws == nullptr && selection.bucketed == nullptr;
}

BlockOffer counted(RequestCount& count, std::uint32_t batch_size) {
  const Asked now = count.with(0);
  if (now.requests <= 0 || now.bytes <= 0) return {};
  BlockOffer offer{.requests = now.requests_of_row()};
  const double bytes = now.bytes / now.rows, extents = now.extents / now.rows;
  const auto longest = static_cast<std::uint64_t>(
      std::min(static_cast<double>(kLongestStoreRange) / bytes, static_cast<double>(kMergedRequests) / extents));
  const std::uint64_t share = batch_size / kShuffleWindowBlocks;
  offer.small_batch = share < 2 && longest >= 2;
  double fewest = offer.requests / kWorth;
  std::set<std::uint64_t> tried;
  for (const std::uint64_t parts : kParts) {
    const std::uint64_t block = std::min(share / parts, longest);
    if (block < 2 || !tried.insert(block).second) continue;
    const double requests = count.with(block).requests_of_row();
    if (requests > fewest) continue;
    fewest = requests;
    offer.shuffle_block = block;
    offer.requests_then = requests;
  }
  return offer;
}

}  // namespace

BlockOffer block_offer(const Dataset& dataset, const Program& program, const OrderOptions& order,
                       const EngineOptions& engine, const Selection& selection) {
  if (!dataset.in_store() || dataset.block_count() != 0 || !is_full_shuffle(order, selection)) return {};
  try {
    RequestCount count(dataset, program, order, engine, selection);
    return counted(count, order.batch_size);
  } catch (const Error&) {
    return {};  // the loader throws the same error when it reads the sample
  }
}

}  // namespace penstock
