#include <algorithm>
#include <bit>
#include <numeric>

#include <order/tokens/best_fit.hpp>

namespace penstock {
namespace {

constexpr unsigned kLevelBits = 6;  // 64 bits per word

}  // namespace

BestFit::BestFit(std::uint64_t size) : size_(size), last_(size + 1, kNone) {
  std::uint64_t bits = size + 1;
  do {
    bits = (bits + 63) >> kLevelBits;
    levels_.emplace_back(bits);
  } while (bits > 1);
}

void BestFit::mark(std::uint32_t room) {
  std::uint64_t bit = room;
  for (std::vector<std::uint64_t>& level : levels_) {
    std::uint64_t& word = level[bit >> kLevelBits];
    const bool known = word != 0;
    word |= std::uint64_t{1} << (bit & 63);
    if (known) return;
    bit >>= kLevelBits;
  }
}

void BestFit::unmark(std::uint32_t room) {
  std::uint64_t bit = room;
  for (std::vector<std::uint64_t>& level : levels_) {
    std::uint64_t& word = level[bit >> kLevelBits];
    word &= ~(std::uint64_t{1} << (bit & 63));
    if (word != 0) return;
    bit >>= kLevelBits;
  }
}

// The least room, not below `wanted`, that some bin has; kNone if no bin has so much. The search goes up the levels to
// the first word with a suitable bit, then down to the lowest such bit.
std::uint32_t BestFit::least_room(std::uint32_t wanted) const {
  std::uint64_t bit = wanted;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (bit >> kLevelBits >= levels_[level].size()) return kNone;
    const std::uint64_t from = levels_[level][bit >> kLevelBits] & (~std::uint64_t{0} << (bit & 63));
    if (from != 0) {
      bit = (bit & ~std::uint64_t{63}) + static_cast<std::uint64_t>(std::countr_zero(from));
      for (; level > 0; --level)
        bit = (bit << kLevelBits) + static_cast<std::uint64_t>(std::countr_zero(levels_[level - 1][bit]));
      return static_cast<std::uint32_t>(bit);
    }
    bit = (bit >> kLevelBits) + 1;
  }
  return kNone;
}

// Returns the number of bins, and sets the bin of each length.
std::uint32_t BestFit::place(std::span<const std::uint32_t> lengths, std::span<const std::uint32_t> order,
                             std::vector<std::uint32_t>& bin_of) {
  bin_of.resize(lengths.size());
  room_.clear();
  before_.clear();
  for (const std::uint32_t item : order) {
    const std::uint32_t length = lengths[item], room = least_room(length);
    std::uint32_t bin = 0;
    if (room == kNone) {
      bin = static_cast<std::uint32_t>(room_.size());
      room_.push_back(static_cast<std::uint32_t>(size_));
      before_.push_back(kNone);
    } else {
      bin = last_[room];
      if ((last_[room] = before_[bin]) == kNone) unmark(room);
    }
    bin_of[item] = bin;
    const std::uint32_t left = room_[bin] -= length;
    before_[bin] = last_[left];
    last_[left] = bin;
    if (before_[bin] == kNone) mark(left);
  }
  for (const std::uint32_t room : room_) {
    last_[room] = kNone;
    unmark(room);
  }
  return static_cast<std::uint32_t>(room_.size());
}

void BestFit::sort_falling(std::span<const std::uint32_t> lengths) {
  falling_.assign(given_.begin(), given_.end());
  std::ranges::stable_sort(falling_, std::greater{}, [&](std::uint32_t item) { return lengths[item]; });
}

void BestFit::pack(std::span<const std::uint32_t> lengths) {
  given_.resize(lengths.size());
  std::iota(given_.begin(), given_.end(), 0U);
  sort_falling(lengths);
  const std::uint32_t falling = place(lengths, falling_, bin_of_);
  const std::uint32_t given = place(lengths, given_, bin_of_given_);
  const bool by_length = falling <= given;
  const std::vector<std::uint32_t>& bin_of = by_length ? bin_of_ : bin_of_given_;
  begins_.assign(std::min(falling, given), 0);
  for (const std::uint32_t bin : bin_of) ++begins_[bin];
  std::exclusive_scan(begins_.begin(), begins_.end(), begins_.begin(), 0U);
  items_.resize(lengths.size());
  for (const std::uint32_t item : by_length ? falling_ : given_) items_[begins_[bin_of[item]]++] = item;
  // Now begins_ contains the end of each bin, which is the beginning of the next one.
  for (std::size_t bin = begins_.size(); bin-- > 1;) begins_[bin] = begins_[bin - 1];
  if (!begins_.empty()) begins_[0] = 0;
}

}  // namespace penstock
