// Fuzzes the readers of files and datasets.
#include <algorithm>
#include <fstream>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/sidecar/sidecar.hpp>
#include <penstock/error.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

constexpr std::uint64_t kMostValues = 4096;                   // asked for
constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 20;  // read or undone

// The bytes that reading these pieces takes, with the blocks that they are parts of.
std::uint64_t cost(const Dataset& dataset, const std::vector<Piece>& pieces) {
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces) {
    const std::uint64_t bytes = piece.kind == Piece::Kind::block ? dataset.block(piece.block).decoded_length : 0;
    sum += std::min(kMostBytes, bytes) + std::min(kMostBytes, piece.length);
  }
  return sum;
}

// One value may be broken and the next one whole.
template <typename Read>
void each_alone(const Read& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace

void read_shard(const Format& format, const std::filesystem::path& shard) {
  format.find_shards(shard);
  format.stamp(shard);
  std::vector<Dataset::Shard> shards;
  shards.push_back({.index = format.index(shard, root_of(shard), {}), .root = root_of(shard), .name = "shard"});
  read_dataset(Dataset(shard, std::string(format.name), std::move(shards), {}, false));
}

void read_dataset(const Dataset& dataset, std::uint64_t most_reads) {
  std::uint64_t values = 0, reads = 0, bytes = 0;
  std::vector<Piece> pieces;
  const auto fields = static_cast<std::uint32_t>(dataset.fields().size());
  for (std::uint64_t sample = 0; sample < dataset.size() && ++values < kMostValues; ++sample) {
    each_alone([&] { dataset.key(sample); });
    for (std::uint32_t field = 0; field < fields && ++values < kMostValues; ++field) {
      each_alone([&] {
        dataset.header(sample, field);
        dataset.crc32c(sample, field);
        if (!dataset.locate(sample, field, pieces) || reads == most_reads) return;
        const std::uint64_t more = cost(dataset, pieces);
        if (more > kMostBytes - bytes) return;
        bytes += more;
        ++reads;
        const bool whole = read_field(dataset, sample, field).size() == dataset.length(sample, field);
        require(whole, "a field of another length than the index says");
      });
    }
  }
}

}  // namespace penstock::fuzz
