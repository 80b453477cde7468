#include <bit>
#include <limits>
#include <string>

#include <formats/io/hash.hpp>
#include <order/buckets/length_table.hpp>
#include <order/permutation/permutation_rounds.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kAnyLength = ~std::uint64_t{0};
constexpr std::uint64_t kLongestWhole = std::numeric_limits<std::uint32_t>::max() - 1;

}  // namespace

// The name of shared numbers is derived from the numbers, not from their origin. If a dataset is written again, its new
// lengths therefore get another name.
template <typename Rank>
void LengthTable::share(std::uint64_t count, std::uint64_t largest, const Rank& rank) {
  std::uint64_t mark = kFnvOffset;
  for (std::uint64_t i = 0; i < count; ++i) mark = mix((mark ^ rank(i)) + kGolden);
  const std::string name = std::string(whole_ ? "whole" : "any") + " lengths " + hexadecimal(mark);
  numbers_ = shared_numbers(name, count, largest, [&](SharedNumbers& numbers) {
    for (std::uint64_t i = 0; i < count; ++i) numbers.set(i, rank(i));
  });
}

LengthTable::LengthTable(std::uint64_t samples) : set_(std::make_unique<NumberTable>(samples, kAnyLength)) {}

LengthTable::LengthTable(const LengthTable& of, std::span<const std::uint64_t> samples)
    : whole_(of.whole_), fingerprint_(of.fingerprint_) {
  share(samples.size(), of.wide() ? kAnyLength : kLongestWhole,
        [&](std::uint64_t number) { return of.rank(samples[number]); });
}

void LengthTable::set(std::uint64_t sample, double length) {
  // Adding 0 turns -0 into 0.
  set_->set(sample, std::bit_cast<std::uint64_t>(length + 0.0) + 1);
}

double LengthTable::length_of(std::uint64_t rank) const {
  return whole_ ? static_cast<double>(rank - 1) : std::bit_cast<double>(rank - 1);
}

void LengthTable::finish() {
  const NumberTable& found = *set_;
  whole_ = true;
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    const std::uint64_t bits = found[i] - 1;
    fingerprint_ = mix((fingerprint_ ^ bits) + kGolden);
    if (!whole_ || found[i] == 0) continue;
    const double length = std::bit_cast<double>(bits);
    whole_ = length <= static_cast<double>(kLongestWhole - 1) &&
             static_cast<double>(static_cast<std::uint32_t>(length)) == length;
  }
  share(found.size(), whole_ ? kLongestWhole : kAnyLength, [&](std::uint64_t i) {
    if (!whole_ || found[i] == 0) return found[i];
    return static_cast<std::uint32_t>(std::bit_cast<double>(found[i] - 1)) + std::uint64_t{1};
  });
  set_.reset();
}

}  // namespace penstock
