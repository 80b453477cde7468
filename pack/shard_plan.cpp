#include <algorithm>
#include <string_view>

#include <formats/extent.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/hash.hpp>
#include <pack/shard_plan.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

/// Estimates the space that a sample takes in a shard, and hashes what the source's index records about the samples.
class Appraiser {
 public:
  Appraiser(const Dataset& source, const PackedFields& fields, const Format& format)
      : source_(source), fields_(fields), format_(format) {}

  std::uint64_t room(std::uint64_t sample) {
    const std::string_view key = source_.key(sample);
    stamp_ = mix64(stamp_ ^ hash64(key));
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < fields_.schemas().size(); ++i) {
      const auto length = length_of(sample, i);
      if (!length) continue;
      sum += format_.room != nullptr ? format_.room(key, fields_.schemas()[i].name, *length) : *length;
    }
    return sum;
  }

  std::uint64_t stamp() const { return stamp_; }

 private:
  std::optional<std::uint64_t> length_of(std::uint64_t sample, std::uint32_t number) {
    const std::optional<std::uint32_t> stored = fields_.stored(number);
    if (!stored) {
      const std::span<const std::byte> label = fields_.label(sample);
      take(number, label.size(), crc32c(label));
      return label.size();
    }
    if (!source_.locate(sample, *stored, pieces_)) return std::nullopt;
    const std::uint64_t length = source_.length(sample, *stored);
    take(number, length, source_.crc32c(sample, *stored).value_or(0));
    return length;
  }

  void take(std::uint32_t number, std::uint64_t length, std::uint32_t crc) {
    stamp_ = mix64(stamp_ ^ length);
    stamp_ = mix64(stamp_ ^ (std::uint64_t{number} << 32 | crc));
  }

  const Dataset& source_;
  const PackedFields& fields_;
  const Format& format_;
  std::vector<Piece> pieces_;
  std::uint64_t stamp_ = 0;
};

}  // namespace

ShardPlan::ShardPlan(const Dataset& source, const PackedFields& fields, std::vector<std::uint64_t> order,
                     const Format& format, std::uint64_t shard_size, std::uint64_t align)
    : order_(std::move(order)), begins_{0} {
  Appraiser appraiser(source, fields, format);
  std::uint64_t filled = 0;
  for (std::uint64_t position = 0; position < order_.size(); ++position) {
    // Alignment pads each sample by half the alignment on average.
    const std::uint64_t room = appraiser.room(order_[position]) + align / 2;
    if (filled != 0 && filled + room > shard_size) {
      begins_.push_back(position);
      filled = 0;
    }
    filled += room;
  }
  begins_.push_back(order_.size());
  stamp_ = appraiser.stamp();
}

std::pair<std::size_t, std::size_t> ShardPlan::share(std::uint32_t rank, std::uint32_t world) const {
  return {shards() * rank / world, shards() * (std::size_t{rank} + 1) / world};
}

}  // namespace penstock
