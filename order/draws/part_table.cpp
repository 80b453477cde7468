#include <algorithm>
#include <bit>
#include <string>

#include <formats/io/hash.hpp>
#include <order/draws/part_table.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kEntriesOfPlace = 4;  // entries per place of the guide, on average
constexpr std::uint64_t kAnyPart = ~std::uint64_t{0};

unsigned shift_of(std::uint64_t total, std::uint64_t entries) {
  const auto bits = static_cast<unsigned>(std::bit_width(total));
  const auto places = static_cast<unsigned>(std::bit_width(entries / kEntriesOfPlace));
  return bits - std::min(bits, places);
}

}  // namespace

PartTable::PartTable(std::uint64_t entries, const std::function<std::uint64_t(std::uint64_t entry)>& parts,
                     bool finds_entries)
    : fingerprint_(kFnvOffset) {
  std::uint64_t all = 0;
  for (std::uint64_t entry = 0; entry < entries; ++entry) {
    const std::uint64_t own = parts(entry);
    all += own;
    fingerprint_ = mix64(fingerprint_ ^ own) + kFnvOffset;
  }
  const std::string name = "parts of " + std::to_string(entries) + " " + hexadecimal(fingerprint_);
  begins_ = shared_numbers(name, entries + 1, kAnyPart, [&](SharedNumbers& begins) {
    std::uint64_t begin = 0;
    for (std::uint64_t entry = 0; entry < entries; begin += parts(entry++)) begins.set(entry, begin);
    begins.set(entries, begin);
  });
  if (!finds_entries) return;
  shift_ = shift_of(all, entries);
  const std::uint64_t places = ((all - 1) >> shift_) + 1;
  guide_ = shared_numbers("guide of " + name, places, entries, [&](SharedNumbers& guide) {
    std::uint64_t entry = 0;
    for (std::uint64_t place = 0; place < places; ++place) {
      while (begin(entry + 1) <= place << shift_) ++entry;
      guide.set(place, entry);
    }
  });
}

std::uint64_t PartTable::entry_of(std::uint64_t part) const {
  const std::uint64_t place = part >> shift_;
  std::uint64_t low = (*guide_)[place];  // begins at or before the part
  // The first entry that begins after the part.
  const std::uint64_t behind = place + 1 < guide_->size() ? (*guide_)[place + 1] + 1 : entries();
  const std::uint64_t* const begins = begins_->longs();
  // Without branches, because they would be unpredictable.
  for (std::uint64_t count = behind - low; count > 1;) {
    const std::uint64_t half = count / 2;
    low += begins[low + half] <= part ? half : 0;
    count -= half;
  }
  return low;
}

}  // namespace penstock
