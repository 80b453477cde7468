#include <algorithm>
#include <array>
#include <cstring>

#include <formats/io/crc32c.hpp>
#include <formats/io/hash.hpp>
#include <loader/fetch/sample_cache.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// States of a table entry. An entry is one of these constants or the offset of the value's header in the memory.
// kBusy carries the number of the filling member above its 4 bits.
//
// Invariants: a thread claims an entry by compare-and-swap to kBusy, so that only one thread fills a value. The offset
// is stored last, with release order, so that a reader never sees a partial value. A stored value is never moved or
// overwritten; if it is damaged, its entry becomes kGivenUp.
constexpr std::uint64_t kAbsent = 0, kBusy = 1, kGivenUp = 2;
constexpr std::uint64_t kAlignment = 16;  // of headers and values, so that no offset equals a state
constexpr unsigned kNumberShift = 4;

constexpr bool is_place(std::uint64_t entry) {
  return entry >= kAlignment && entry % kAlignment == 0;
}

/// Stored before each value.
struct Header {
  std::uint64_t length;  // the upper 8 bits contain the channels
  std::uint32_t height, width;
};
static_assert(sizeof(Header) == kAlignment);
constexpr unsigned kChannelsShift = 56;

/// Stored between header and value in shared memory. It protects this process from damage by other processes, which
/// map the same memory writable.
struct Proof {
  std::uint64_t keeper;  // the member's number
  std::uint32_t crc;     // of the value
  std::uint32_t seal;    // of the header, the other members here, and the entry's place and offset
};
static_assert(sizeof(Proof) == kAlignment);

std::uint32_t seal_of(const Header& header, const Proof& proof, std::uint64_t place, std::uint64_t at) {
  std::uint64_t sum = mix64(place + 0x9E3779B97F4A7C15 * at);
  sum = mix64(sum ^ header.length);
  sum = mix64(sum ^ (std::uint64_t{header.height} << 32 | header.width));
  sum = mix64(sum ^ proof.keeper);
  return static_cast<std::uint32_t>(mix64(sum ^ proof.crc));
}

}  // namespace

/// The part of a cache in the node's shared memory.
struct SampleCache::Shared {
  Shared(const MemoryKey& key, std::uint64_t limit_bytes, std::uint64_t places)
      : memory(key, limit_bytes, places), seen((places + 63) / 64 * sizeof(std::uint64_t)) {}

  // Whether this process has verified the checksum of the value at this place. A bit saves the checksum on later
  // hits.
  std::atomic_ref<std::uint64_t> seen_word(std::uint64_t place) const {
    return std::atomic_ref(reinterpret_cast<std::uint64_t*>(seen.data())[place / 64]);
  }
  bool is_seen(std::uint64_t place) const {
    return (seen_word(place).load(std::memory_order_relaxed) >> place % 64 & 1) != 0;
  }
  void mark_seen(std::uint64_t place) const {
    seen_word(place).fetch_or(std::uint64_t{1} << place % 64, std::memory_order_relaxed);
  }

  NodeMemory memory;
  Memory seen;  // one bit per place
  std::atomic<std::uint64_t> hits_of_others{0}, damaged{0};
};

SampleCache::SampleCache(CacheKind kind, std::uint64_t limit_bytes, std::uint64_t samples, const Program& program,
                         std::optional<Origin> origin)
    : kind_(kind), rows_(program.outputs().size(), kNone), values_(program.outputs().size()) {
  if (!on()) return;
  lay_columns(program);
  const std::uint64_t table_bytes = samples * columns_.size() * sizeof(std::uint64_t);
  if (limit_bytes <= table_bytes + kAlignment + kOverread) {
    throw Error::invalid_argument("the cache's limit of " + std::to_string(limit_bytes) +
                                  " bytes is too small for the " + std::to_string(table_bytes) +
                                  " bytes of the table of " + std::to_string(samples) + " samples");
  }
  if (origin) {
    try {
      share(limit_bytes, samples, *origin);
      return;
    } catch (const Error& error) {
      refused_ = "this process uses its own cache of the same size, because the node's cache is not available (" +
                 error.cause() + ")";
    }
  }
  capacity_ = limit_bytes - table_bytes;
  header_bytes_ = sizeof(Header);
  claim_ = kBusy;
  own_table_ = Memory(table_bytes);  // zeros, which is kAbsent
  own_memory_ = Memory(capacity_);
  table_ = reinterpret_cast<std::uint64_t*>(own_table_.data());
  memory_ = own_memory_.data();
  own_used_ = kAlignment;
}

SampleCache::~SampleCache() = default;

void SampleCache::lay_columns(const Program& program) {
  for (std::uint32_t i = 0; i < program.outputs().size(); ++i) {
    const Output& output = program.outputs()[i];
    const bool row = output.verbatim ? !output.ragged : kind_ == CacheKind::decoded && output.keep == Keep::row;
    const bool pixels = kind_ == CacheKind::decoded && output.keep == Keep::pixels;
    if (row) {
      rows_[i] = column({.output = i, .field = 0, .keep = Keep::row, .row_bytes = output.step_bytes()});
      continue;
    }
    for (const std::uint32_t field : output.sources) {
      values_[i].emplace_back(field, column({.output = 0,
                                             .field = field,
                                             .keep = pixels ? Keep::pixels : Keep::bytes,
                                             .pixels = pixels ? output.pixels : Pixels::rgb}));
    }
  }
  rows_alone_ = program.windows() == 0 && std::ranges::find(rows_, kNone) == rows_.end();
}

// Adds the meaning of all columns to the key, so that only processes that interpret the values in the same way share
// them.
void SampleCache::share(std::uint64_t limit_bytes, std::uint64_t samples, Origin origin) {
  origin.add(static_cast<std::uint64_t>(kind_));
  origin.add(limit_bytes);
  origin.add(samples);
  for (const Kept& kept : columns_) {
    origin.add(std::uint64_t{kept.output} << 32 | kept.field);
    origin.add(static_cast<std::uint64_t>(kept.keep) << 32 | static_cast<std::uint64_t>(kept.pixels));
    origin.add(kept.row_bytes);
  }
  shared_ = std::make_unique<Shared>(origin.key(), limit_bytes, samples * columns_.size());
  NodeMemory& memory = shared_->memory;
  capacity_ = memory.capacity();
  header_bytes_ = sizeof(Header) + sizeof(Proof);
  claim_ = memory.number() << kNumberShift | kBusy;
  table_ = memory.table();
  memory_ = memory.values();
  used_ = &memory.used();
  count_ = &memory.count();
  std::uint64_t nothing = 0;  // offset 0 would read as kAbsent, so values begin after it
  used_->compare_exchange_strong(nothing, kAlignment, std::memory_order_relaxed);
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

SampleCache::Value SampleCache::value_at(std::uint64_t at) const {
  Header header;
  std::memcpy(&header, memory_ + at, sizeof header);
  const std::uint64_t length = header.length & ((std::uint64_t{1} << kChannelsShift) - 1);
  return Value{{memory_ + at + header_bytes_, static_cast<std::size_t>(length)},
               header.height,
               header.width,
               static_cast<std::uint32_t>(header.length >> kChannelsShift)};
}

std::optional<SampleCache::Value> SampleCache::find(std::uint64_t sample, Column column) const {
  const std::uint64_t at = entry(place(sample, column)).load(std::memory_order_acquire);  // pairs with keep()'s release
  if (!is_place(at)) return std::nullopt;
  if (shared_ == nullptr) return value_at(at);
  bool of_others = false;
  const auto found = believed(place(sample, column), column, at, of_others);
  if (of_others) shared_->hits_of_others.fetch_add(1, std::memory_order_relaxed);
  return found;
}

// Returns a value of shared memory after validation. A damaged value is given up for all processes, and nothing is
// returned.
std::optional<SampleCache::Value> SampleCache::believed(std::uint64_t place, Column column, std::uint64_t at,
                                                        bool& of_others) const {
  if (is_sound(place, column, at, of_others)) return value_at(at);
  if (entry(place).compare_exchange_strong(at, kGivenUp, std::memory_order_relaxed))
    shared_->damaged.fetch_add(1, std::memory_order_relaxed);
  of_others = false;
  return std::nullopt;
}

bool SampleCache::is_sound(std::uint64_t place, Column column, std::uint64_t at, bool& of_others) const {
  const std::uint64_t around = header_bytes_ + kOverread, provided = shared_->memory.provided();
  if (provided < around || at > provided - around) return false;
  const Value value = value_at(at);
  const std::uint64_t bytes = value.bytes.size(), pixels = std::uint64_t{value.height} * value.width;
  if (bytes > provided - around - at) return false;
  const Kept& kept = columns_[column];
  if (kept.keep == Keep::row && bytes != kept.row_bytes) return false;
  if (value.channels != 0 && (bytes % value.channels != 0 || bytes / value.channels != pixels)) return false;
  Header header;
  Proof proof;
  std::memcpy(&header, memory_ + at, sizeof header);
  std::memcpy(&proof, memory_ + at + sizeof header, sizeof proof);
  if (proof.seal != seal_of(header, proof, place, at)) return false;
  of_others = proof.keeper != shared_->memory.number();
  if (!of_others || shared_->is_seen(place)) return true;
  if (proof.crc != crc32c(value.bytes)) return false;
  shared_->mark_seen(place);
  return true;
}

// Prefetches rows ahead: they are scattered over the memory, and a copy would otherwise wait for the start of each
// row.
void SampleCache::copy_rows(Column column, std::span<const std::uint64_t> samples, std::byte* rows,
                            std::uint64_t row_bytes, std::span<std::uint8_t> missing) const {
  constexpr std::size_t kAhead = 4;                // rows
  constexpr std::uint64_t kLine = 64, kLines = 4;  // of memory; the processor prefetches the lines after these
  std::array<std::uint64_t, kAhead> places;        // of the rows ahead, in a ring
  const auto look_up = [&](std::size_t i) {
    // Pairs with keep()'s release.
    const std::uint64_t at = entry(place(samples[i], column)).load(std::memory_order_acquire);
    places[i % kAhead] = at;
    for (std::uint64_t line = 0; is_place(at) && line < kLines; ++line) __builtin_prefetch(memory_ + at + kLine * line);
  };
  std::uint64_t hits_of_others = 0;
  for (std::size_t i = 0; i < std::min(kAhead, samples.size()); ++i) look_up(i);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint64_t at = places[i % kAhead];
    if (i + kAhead < samples.size()) look_up(i + kAhead);
    bool of_others = false;
    if (!is_place(at) || (shared_ != nullptr && !believed(place(samples[i], column), column, at, of_others)))
      missing[i] = 1;
    else
      std::memcpy(rows + row_bytes * i, memory_ + at + header_bytes_, static_cast<std::size_t>(row_bytes));
    hits_of_others += of_others ? 1 : 0;
  }
  if (hits_of_others != 0) shared_->hits_of_others.fetch_add(hits_of_others, std::memory_order_relaxed);
}

// An entry counts as free if the process that claimed it is dead. Otherwise a killed process would block its samples
// for all others.
bool SampleCache::is_free(std::uint64_t entry) const {
  if (entry == kAbsent) return true;
  return shared_ != nullptr && entry % kAlignment == kBusy && !shared_->memory.is_member(entry >> kNumberShift);
}

bool SampleCache::wants(std::uint64_t sample, Column column) const {
  if (shared_ != nullptr && shared_->memory.refused()) return false;
  return used_->load(std::memory_order_relaxed) + kAlignment + kOverread < capacity_ &&
         is_free(entry(place(sample, column)).load(std::memory_order_relaxed));
}

// Reserves memory for a value with its header. Returns nothing if there is no room.
std::optional<std::uint64_t> SampleCache::take(std::uint64_t bytes) {
  std::uint64_t begin = used_->load(std::memory_order_relaxed);
  do {
    if (bytes > capacity_ - kOverread || begin > capacity_ - kOverread - bytes || !is_place(begin)) return std::nullopt;
  } while (!used_->compare_exchange_weak(begin, begin + bytes, std::memory_order_relaxed));
  std::uint64_t end = begin + bytes;
  if (shared_ == nullptr || shared_->memory.provide(end + kOverread)) return begin;
  used_->compare_exchange_strong(end, begin, std::memory_order_relaxed);  // unless others have reserved memory after it
  return std::nullopt;
}

void SampleCache::keep(std::uint64_t sample, Column column, const Value& value) {
  const std::uint64_t number = place(sample, column);
  const std::uint64_t bytes = header_bytes_ + rounded_up(value.bytes.size(), kAlignment);
  std::atomic_ref<std::uint64_t> at = entry(number);
  std::uint64_t found = at.load(std::memory_order_relaxed);
  // Relaxed: no thread reads the value of a busy entry.
  if (!is_free(found) || !at.compare_exchange_strong(found, claim_, std::memory_order_relaxed)) return;
  const std::optional<std::uint64_t> begin = take(bytes);
  if (!begin) {
    at.store(kAbsent, std::memory_order_relaxed);  // a shorter value may still fit
    return;
  }
  const Header header{value.bytes.size() | std::uint64_t{value.channels} << kChannelsShift, value.height, value.width};
  std::memcpy(memory_ + *begin, &header, sizeof header);
  if (shared_ != nullptr) {
    Proof proof{.keeper = shared_->memory.number(), .crc = crc32c(value.bytes), .seal = 0};
    proof.seal = seal_of(header, proof, number, *begin);
    std::memcpy(memory_ + *begin + sizeof header, &proof, sizeof proof);
  }
  if (!value.bytes.empty()) std::memcpy(memory_ + *begin + header_bytes_, value.bytes.data(), value.bytes.size());
  count_->fetch_add(1, std::memory_order_relaxed);
  at.store(*begin, std::memory_order_release);  // release: a thread that finds the offset sees the value
}

void SampleCache::give_up(std::uint64_t sample, Column column) {
  std::uint64_t found = kAbsent;
  entry(place(sample, column)).compare_exchange_strong(found, kGivenUp, std::memory_order_relaxed);
}

void SampleCache::count(std::uint64_t hits, std::uint64_t misses) {
  hits_.fetch_add(hits, std::memory_order_relaxed);
  misses_.fetch_add(misses, std::memory_order_relaxed);
}

CacheStats SampleCache::stats() const {
  if (!on()) return {};
  CacheStats stats{.reserved = own_table_.size() + own_memory_.size(),
                   .used = used_->load(std::memory_order_relaxed),
                   .values = count_->load(std::memory_order_relaxed),
                   .hits = hits_.load(std::memory_order_relaxed),
                   .misses = misses_.load(std::memory_order_relaxed)};
  if (shared_ == nullptr) return stats;
  stats.reserved = shared_->memory.bytes();
  stats.members = shared_->memory.members();
  // Workers report their hits only when a row is done, so the other counter may be ahead.
  stats.hits_of_others = std::min(stats.hits, shared_->hits_of_others.load(std::memory_order_relaxed));
  return stats;
}

std::string SampleCache::note() const {
  if (shared_ == nullptr) return refused_;
  std::string note = shared_->memory.note();
  if (const std::uint64_t damaged = shared_->damaged.load(std::memory_order_relaxed); damaged != 0)
    note += (note.empty() ? "" : "; ") + std::to_string(damaged) +
            " values in the sample cache were damaged and are read again";
  return note;
}

}  // namespace penstock
