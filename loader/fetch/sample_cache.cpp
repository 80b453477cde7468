#include <algorithm>
#include <cstring>
#include <string>

#include <penstock/base/error.hpp>
#include <penstock/loader/fetch/sample_cache.hpp>

namespace penstock {
namespace {

// What a place of the table holds: one of these, or where in the memory the value's header lies.
constexpr std::uint64_t kAbsent = 0, kBusy = 1, kGivenUp = 2;
constexpr std::uint64_t kAlignment = 16;  // of headers and values, so that none of the numbers above is a place

/// In front of each value.
struct Header {
  std::uint64_t length;  // the channels in the upper 8 bits
  std::uint32_t height, width;
};
static_assert(sizeof(Header) == kAlignment);
constexpr unsigned kChannelsShift = 56;

}  // namespace

SampleCache::SampleCache(CacheKind kind, std::uint64_t limit_bytes, std::uint64_t samples, const Program& program)
    : kind_(kind), rows_(program.outputs().size(), kNone), values_(program.outputs().size()) {
  if (!on()) return;
  for (std::uint32_t i = 0; i < program.outputs().size(); ++i) {
    const Output& output = program.outputs()[i];
    const bool row = output.verbatim ? !output.ragged : kind == CacheKind::decoded && output.keep == Keep::row;
    const Keep keep = kind == CacheKind::decoded && output.keep == Keep::pixels ? Keep::pixels : Keep::bytes;
    if (row) {
      rows_[i] = column({i, 0, Keep::row});
      continue;
    }
    for (const std::uint32_t field : output.sources) values_[i].emplace_back(field, column({0, field, keep}));
  }
  rows_alone_ = program.windows() == 0 && std::ranges::find(rows_, kNone) == rows_.end();
  const std::uint64_t table_bytes = samples * columns_.size() * sizeof(std::uint64_t);
  if (limit_bytes <= table_bytes + kAlignment + kOverread) {
    throw Error::invalid_argument("cache_bytes = " + std::to_string(limit_bytes) + " does not hold the " +
                                  std::to_string(table_bytes) + " bytes that the table of " + std::to_string(samples) +
                                  " samples takes");
  }
  capacity_ = limit_bytes - table_bytes;
  table_ = Memory(table_bytes);  // zeros: kAbsent
  values_memory_ = Memory(capacity_);
  used_ = kAlignment;
}

SampleCache::Column SampleCache::column(const Kept& kept) {
  const auto found = std::ranges::find(columns_, kept);
  const auto number = static_cast<Column>(found - columns_.begin());
  if (found == columns_.end()) columns_.push_back(kept);
  return number;
}

SampleCache::Column SampleCache::value_of(std::uint32_t output, std::uint32_t field) const {
  for (const auto& [kept, number] : values_[output]) {
    if (kept == field) return number;
  }
  return kNone;
}

std::atomic_ref<std::uint64_t> SampleCache::entry(std::uint64_t sample, Column column) const {
  auto* places = reinterpret_cast<std::uint64_t*>(table_.data());
  return std::atomic_ref(places[sample * columns_.size() + column]);
}

std::optional<SampleCache::Value> SampleCache::find(std::uint64_t sample, Column column) const {
  const std::uint64_t at = entry(sample, column).load(std::memory_order_acquire);  // with keep()'s release
  if (at < kAlignment) return std::nullopt;
  Header header;
  std::memcpy(&header, values_memory_.data() + at, sizeof header);
  const std::uint64_t length = header.length & ((std::uint64_t{1} << kChannelsShift) - 1);
  return Value{{values_memory_.data() + at + sizeof header, static_cast<std::size_t>(length)},
               header.height,
               header.width,
               static_cast<std::uint32_t>(header.length >> kChannelsShift)};
}

// The processor is told of a row before its turn comes: rows lie anywhere, and the start of each would be waited for.
void SampleCache::copy_rows(Column column, std::span<const std::uint64_t> samples, std::byte* rows,
                            std::uint64_t row_bytes, std::span<std::uint8_t> missing) const {
  constexpr std::size_t kAhead = 4;                // rows
  constexpr std::uint64_t kLine = 64, kLines = 4;  // of memory; what follows is found by the processor itself
  std::array<std::uint64_t, kAhead> places;        // of the rows ahead, in a ring
  const std::byte* const memory = values_memory_.data();
  const auto look_up = [&](std::size_t i) {
    const std::uint64_t at = entry(samples[i], column).load(std::memory_order_acquire);  // with keep()'s release
    places[i % kAhead] = at;
    for (std::uint64_t line = 0; at >= kAlignment && line < kLines; ++line)
      __builtin_prefetch(memory + at + kLine * line);
  };
  for (std::size_t i = 0; i < std::min(kAhead, samples.size()); ++i) look_up(i);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint64_t at = places[i % kAhead];
    if (i + kAhead < samples.size()) look_up(i + kAhead);
    if (at < kAlignment)
      missing[i] = 1;
    else
      std::memcpy(rows + row_bytes * i, memory + at + sizeof(Header), static_cast<std::size_t>(row_bytes));
  }
}

bool SampleCache::wants(std::uint64_t sample, Column column) const {
  return used_.load(std::memory_order_relaxed) + kAlignment + kOverread < capacity_ &&
         entry(sample, column).load(std::memory_order_relaxed) == kAbsent;
}

void SampleCache::keep(std::uint64_t sample, Column column, const Value& value) {
  const std::uint64_t bytes = sizeof(Header) + (value.bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  std::atomic_ref<std::uint64_t> at = entry(sample, column);
  std::uint64_t found = kAbsent;
  // Relaxed: nobody reads the value of a place that is busy.
  if (!at.compare_exchange_strong(found, kBusy, std::memory_order_relaxed)) return;
  std::uint64_t begin = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > capacity_ - kOverread || begin > capacity_ - kOverread - bytes) {
      at.store(kAbsent, std::memory_order_relaxed);  // a shorter value may still fit
      return;
    }
  } while (!used_.compare_exchange_weak(begin, begin + bytes, std::memory_order_relaxed));
  const Header header{value.bytes.size() | std::uint64_t{value.channels} << kChannelsShift, value.height, value.width};
  std::memcpy(values_memory_.data() + begin, &header, sizeof header);
  if (!value.bytes.empty())
    std::memcpy(values_memory_.data() + begin + sizeof header, value.bytes.data(), value.bytes.size());
  count_.fetch_add(1, std::memory_order_relaxed);
  at.store(begin, std::memory_order_release);  // whoever finds the place sees the value
}

void SampleCache::give_up(std::uint64_t sample, Column column) {
  std::uint64_t found = kAbsent;
  entry(sample, column).compare_exchange_strong(found, kGivenUp, std::memory_order_relaxed);
}

void SampleCache::count(std::uint64_t hits, std::uint64_t misses) {
  hits_.fetch_add(hits, std::memory_order_relaxed);
  misses_.fetch_add(misses, std::memory_order_relaxed);
}

CacheStats SampleCache::stats() const {
  if (!on()) return {};
  return {.reserved = table_.size() + values_memory_.size(),
          .used = used_.load(std::memory_order_relaxed),
          .values = count_.load(std::memory_order_relaxed),
          .hits = hits_.load(std::memory_order_relaxed),
          .misses = misses_.load(std::memory_order_relaxed)};
}

}  // namespace penstock
