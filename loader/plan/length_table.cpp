#include <bit>
#include <limits>
#include <utility>

#include <penstock/loader/plan/length_table.hpp>
#include <penstock/loader/plan/permutation_rounds.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kAnyLength = ~std::uint64_t{0};
constexpr std::uint64_t kLongestWhole = std::numeric_limits<std::uint32_t>::max() - 1;

}  // namespace

LengthTable::LengthTable(std::uint64_t samples) : numbers_(std::make_unique<NumberTable>(samples, kAnyLength)) {}

LengthTable::LengthTable(const LengthTable& of, std::span<const std::uint64_t> samples)
    : numbers_(std::make_unique<NumberTable>(samples.size(), of.wide() ? kAnyLength : kLongestWhole)),
      whole_(of.whole_),
      fingerprint_(of.fingerprint_) {
  for (std::size_t i = 0; i < samples.size(); ++i) numbers_->set(i, of.rank(samples[i]));
}

void LengthTable::set(std::uint64_t sample, double length) {
  numbers_->set(sample, std::bit_cast<std::uint64_t>(length + 0.0) + 1);  // -0 becomes 0
}

double LengthTable::length_of(std::uint64_t rank) const {
  return whole_ ? static_cast<double>(rank - 1) : std::bit_cast<double>(rank - 1);
}

void LengthTable::finish() {
  bool whole = true;
  for (std::uint64_t i = 0; i < size(); ++i) {
    const std::uint64_t bits = rank(i) - 1;
    fingerprint_ = mix((fingerprint_ ^ bits) + kGolden);
    if (!whole || !has(i)) continue;
    const double length = std::bit_cast<double>(bits);
    whole = length <= static_cast<double>(kLongestWhole - 1) &&
            static_cast<double>(static_cast<std::uint32_t>(length)) == length;
  }
  if (!whole) return;
  auto narrow = std::make_unique<NumberTable>(size(), kLongestWhole);
  for (std::uint64_t i = 0; i < size(); ++i)
    if (has(i)) narrow->set(i, static_cast<std::uint32_t>(length_of(rank(i))) + std::uint64_t{1});
  numbers_ = std::move(narrow);
  whole_ = true;
}

}  // namespace penstock
