#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <base/numbers/wide.hpp>
#include <base/parallel_for.hpp>
#include <order/draws/drawn_once.hpp>
#include <order/draws/upper_half_sort.hpp>
#include <order/permutation/permutation_rounds.hpp>

namespace penstock {
namespace {

constexpr unsigned kStretchBits = 7;
// In units: many times the error of the floating-point numbers.
constexpr double kDoubtful = 0x1p-10;

// The first `bits` bits of log2 of a number from 1 to 2, given in units of 2^-63.
constexpr std::uint64_t log2_by_squares(std::uint64_t mantissa, int bits) {
  std::uint64_t log2 = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const Wide square = Wide{mantissa} * mantissa;
    const bool two = (square >> 127) != 0;
    mantissa = static_cast<std::uint64_t>(square >> (two ? 64 : 63));
    log2 = log2 << 1 | (two ? 1U : 0U);
  }
  return log2;
}

// The range from 1 to 2 is divided into stretches of equal length. This describes the middle of one.
struct Stretch {
  double by = 0;    // 2^-63 / middle
  double log2 = 0;  // of the middle, in units of 2^-32
};

constexpr std::uint64_t middle_of(std::uint64_t stretch) {
  return (std::uint64_t{1} << 63) + (2 * stretch + 1) * (std::uint64_t{1} << (62 - kStretchBits));
}

constexpr auto kStretches = [] {
  std::array<Stretch, std::size_t{1} << kStretchBits> stretches;
  for (std::uint64_t i = 0; i < stretches.size(); ++i)
    stretches[i] = {.by = 1 / static_cast<double>(middle_of(i)),
                    .log2 = static_cast<double>(log2_by_squares(middle_of(i), 60)) * 0x1p-28};
  return stretches;
}();

constexpr std::uint64_t kEntriesAtOnce = 1 << 16;                     // tables up to this size are sorted as one
constexpr std::uint64_t kEntriesOfRange = 1 << 16, kMostRanges = 64;  // per thread
constexpr std::uint64_t kFewEntries = 256;                            // below this, a comparison sort is as fast
// The shortest time as bits of a float64, and the number of powers of two from there to 2^38.
constexpr std::uint64_t kSoonest = std::bit_cast<std::uint64_t>(0x1p-61), kBinades = 100;
constexpr unsigned kMantissa = 52, kSortedBits = 32;
constexpr std::uint64_t kEntriesOfStretchBits = 14, kMostStretchBits = 9;

// Source: Efraimidis and Spirakis, Information Processing Letters 97 (2006). Each entry gets an exponentially
// distributed time, with its weight as rate. The entries are sorted by time.
class Times {
 public:
  Times(const PartTable& parts, std::uint64_t key) : parts_(parts), key_(key) {}

  bool any(std::uint64_t entry) const { return parts_.begin(entry + 1) != parts_.begin(entry); }
  // The time as the bits of a positive float64, whose order as integers is that of the numbers.
  std::uint64_t operator[](std::uint64_t entry) const {
    const std::uint64_t own = parts_.begin(entry + 1) - parts_.begin(entry);
    const std::uint64_t wait = waiting_time(mix(key_ + entry * kGolden));
    return std::bit_cast<std::uint64_t>(static_cast<double>(wait) / static_cast<double>(own));
  }

 private:
  const PartTable& parts_;
  std::uint64_t key_;
};

// Calls put(i, entry) for the entries in the order of their times. `entries` must be in rising order, so that of equal
// times the lower entry comes first.
template <typename Put>
void sort_by_time(const Times& times, std::span<const std::uint64_t> entries, const Put& put) {
  if (entries.empty()) return;
  std::vector<std::uint64_t> time(entries.size()), order(entries.size());
  std::uint64_t soonest = ~std::uint64_t{0}, latest = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    time[i] = times[entries[i]];
    soonest = std::min(soonest, time[i]);
    latest = std::max(latest, time[i]);
  }
  const auto sooner = [&](std::uint64_t one, std::uint64_t other) {
    const std::uint64_t a = static_cast<std::uint32_t>(one), b = static_cast<std::uint32_t>(other);
    return time[a] != time[b] ? time[a] < time[b] : a < b;
  };
  const unsigned width = static_cast<unsigned>(std::bit_width(latest - soonest));
  const unsigned shift = width > kSortedBits ? width - kSortedBits : 0;
  for (std::size_t i = 0; i < entries.size(); ++i) order[i] = ~((time[i] - soonest) >> shift) << 32 | i;
  if (entries.size() < kFewEntries) {
    std::ranges::sort(order, sooner);
  } else {
    sort_by_upper_half(order);
    for (std::size_t first = 0, end = 1; first < order.size(); first = end++) {
      while (end < order.size() && order[end] >> 32 == order[first] >> 32) ++end;
      if (end - first > 1) std::ranges::sort(std::span(order).subspan(first, end - first), sooner);
    }
  }
  for (std::size_t i = 0; i < order.size(); ++i) put(i, entries[static_cast<std::uint32_t>(order[i])]);
}

// Cuts all times into stretches, writes the entries of each stretch to `order`, in their order, then sorts each
// stretch. This runs on all cores and needs almost no memory besides `order`.
class Stretches {
 public:
  Stretches(const Times& times, std::uint64_t entries, SharedNumbers& order)
      : times_(times),
        entries_(entries),
        ranges_(std::min(entries / kEntriesOfRange, kMostRanges)),
        shift_(kMantissa - static_cast<unsigned>(std::min<std::uint64_t>(
                               std::bit_width(entries >> kEntriesOfStretchBits), kMostStretchBits))),
        count_(kBinades << (kMantissa - shift_)),
        places_(ranges_ * count_, 0),
        begins_(count_ + 1),
        order_(order) {}

  void sort() {
    parallel_for(ranges_, 0,
                 [&](std::uint64_t range) { for_each(range, [&](std::uint64_t, std::uint64_t& place) { ++place; }); });
    place();
    parallel_for(ranges_, 0, [&](std::uint64_t range) {
      for_each(range, [&](std::uint64_t entry, std::uint64_t& place) { note(entry, place++); });
    });
    parallel_for(last_ + 1, 0, [&](std::uint64_t stretch) { sort(stretch); });
  }

 private:
  // Calls visit(entry, place of its stretch in the range).
  template <typename Visit>
  void for_each(std::uint64_t range, const Visit& visit) {
    const std::span<std::uint64_t> places = std::span(places_).subspan(range * count_, count_);
    const std::uint64_t end = entries_ * (range + 1) / ranges_;
    for (std::uint64_t entry = entries_ * range / ranges_; entry < end; ++entry)
      if (times_.any(entry)) visit(entry, places[(times_[entry] - kSoonest) >> shift_]);
  }

  // Turns counts into places.
  void place() {
    std::uint64_t begin = 0;
    for (std::uint64_t stretch = 0; stretch < count_; ++stretch) {
      begins_[stretch] = begin;
      if (begin < order_.size()) last_ = stretch;
      for (std::uint64_t range = 0; range < ranges_; ++range)
        begin += std::exchange(places_[range * count_ + stretch], begin);
    }
    begins_[count_] = begin;
    of_last_.resize(begins_[last_ + 1] - begins_[last_]);
  }

  // `order` may end inside the last stretch, so this stretch has a list of its own. Stretches after it are not needed.
  void note(std::uint64_t entry, std::uint64_t place) {
    if (place < begins_[last_]) {
      order_.set(place, entry);
    } else if (place < begins_[last_ + 1]) {
      of_last_[place - begins_[last_]] = entry;
    }
  }

  void sort(std::uint64_t stretch) {
    const std::uint64_t begin = begins_[stretch];
    const auto put = [&](std::uint64_t i, std::uint64_t entry) {
      if (begin + i < order_.size()) order_.set(begin + i, entry);
    };
    if (stretch == last_) return sort_by_time(times_, of_last_, put);
    std::vector<std::uint64_t> entries(begins_[stretch + 1] - begin);
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = order_[begin + i];
    sort_by_time(times_, entries, put);
  }

  const Times& times_;
  std::uint64_t entries_, ranges_;
  unsigned shift_;
  std::uint64_t count_;
  // One number per range and stretch: first a count, then the place of the next entry.
  std::vector<std::uint64_t> places_;
  std::vector<std::uint64_t> begins_;  // first place of each stretch, and the end
  std::uint64_t last_ = 0;             // stretch in which the order ends
  std::vector<std::uint64_t> of_last_;
  SharedNumbers& order_;
};

}  // namespace

std::uint64_t waiting_time_by_squares(std::uint64_t draw) {
  draw |= 1;
  const int zeros = std::countl_zero(draw);
  return (static_cast<std::uint64_t>(zeros + 1) << 32) - log2_by_squares(draw << zeros, 32);
}

// Uses the first five terms of the series of a logarithm around the middle of a stretch, with an error below 2^-16 of a
// unit. If the result is so close to a whole number that the method by squares could give the next one, that method
// decides. The result is therefore always the one that docs/order.md defines.
std::uint64_t waiting_time(std::uint64_t draw) {
  constexpr double kUnits = 0x1p32 / 0.69314718055994530942;  // for a natural logarithm
  draw |= 1;
  const int zeros = std::countl_zero(draw);
  const std::uint64_t mantissa = draw << zeros;
  const std::uint64_t number = mantissa << 1 >> (64 - kStretchBits);
  const Stretch& stretch = kStretches[number];
  const double x = static_cast<double>(static_cast<std::int64_t>(mantissa - middle_of(number))) * stretch.by;
  const double log2 =
      stretch.log2 + x * (kUnits + x * (-kUnits / 2 + x * (kUnits / 3 + x * (-kUnits / 4 + x * (kUnits / 5)))));
  const auto whole = static_cast<std::int64_t>(log2);
  const double rest = log2 - static_cast<double>(whole);
  if (!(rest > kDoubtful && rest < 1 - kDoubtful)) return waiting_time_by_squares(draw);
  return (static_cast<std::uint64_t>(zeros + 1) << 32) - static_cast<std::uint64_t>(whole);
}

void draw_once(const PartTable& parts, std::uint64_t key, SharedNumbers& order) {
  const Times times(parts, key);
  if (parts.entries() > kEntriesAtOnce) return Stretches(times, parts.entries(), order).sort();
  std::vector<std::uint64_t> entries;
  entries.reserve(parts.entries());
  for (std::uint64_t entry = 0; entry < parts.entries(); ++entry)
    if (times.any(entry)) entries.push_back(entry);
  sort_by_time(times, entries, [&](std::uint64_t i, std::uint64_t entry) {
    if (i < order.size()) order.set(i, entry);
  });
}

}  // namespace penstock
