#include <algorithm>
#include <string>

#include <fcntl.h>

#include <formats/error_location.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/descriptor.hpp>
#include <formats/io/hash.hpp>
#include <formats/places/places.hpp>
#include <loader/fetch/value_checks.hpp>
#include <transforms/output.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kWordBits = 64;

std::uint64_t bytes_for(std::uint64_t bits) {
  return (bits + kWordBits - 1) / kWordBits * sizeof(std::uint64_t);
}

std::uint64_t& word_of(const Memory& bits, std::uint64_t number) {
  return reinterpret_cast<std::uint64_t*>(bits.data())[number / kWordBits];
}

std::string digits_of(std::uint32_t sum) {
  return hexadecimal(sum).substr(2 * sizeof(sum));
}

// The kernel drops clean pages that no mapping uses, so the next read comes from storage.
void forget_pages(const Dataset& dataset, const Extent& extent) {
  if (dataset.stored_object(extent.file) != nullptr) return;
  const Descriptor file = Descriptor::open(dataset.file(extent.file).path, O_RDONLY);
  ::posix_fadvise(file.get(), static_cast<off_t>(extent.offset), static_cast<off_t>(extent.length),
                  POSIX_FADV_DONTNEED);
}

}  // namespace

ValueChecks::ValueChecks(const Dataset& dataset, const Program& program, Checksums when)
    : dataset_(dataset), when_(when), column_of_(dataset.fields().size(), kNone) {
  if (when != Checksums::first) return;
  std::uint32_t columns = 0;
  for (const Output& output : program.outputs()) {
    for (const std::uint32_t field : output.sources)
      if (column_of_[field] == kNone) column_of_[field] = columns++;
  }
  values_ = Memory(bytes_for(columns * dataset.size()));
  ranges_ = Memory(bytes_for(dataset.range_count()));
}

// Relaxed: a bit only says that bytes were valid, and publishes no other data.
bool ValueChecks::is_set(const Memory& bits, std::uint64_t number) {
  const std::uint64_t word = std::atomic_ref(word_of(bits, number)).load(std::memory_order_relaxed);
  return (word >> (number % kWordBits) & 1) != 0;
}

void ValueChecks::set(const Memory& bits, std::uint64_t number) {
  if (bits.size() == 0) return;
  std::atomic_ref(word_of(bits, number)).fetch_or(std::uint64_t{1} << (number % kWordBits), std::memory_order_relaxed);
}

std::uint64_t ValueChecks::bit_of(std::uint64_t sample, std::uint32_t field) const {
  return column_of_[field] * dataset_.size() + sample;
}

bool ValueChecks::wants(std::uint64_t sample, std::uint32_t field) const {
  if (when_ == Checksums::first && column_of_[field] != kNone) return !is_set(values_, bit_of(sample, field));
  return on();
}

bool ValueChecks::wants_range(std::uint64_t sample, std::uint32_t field, std::uint64_t range) const {
  return wants(sample, field) && (when_ != Checksums::first || !is_set(ranges_, range));
}

void ValueChecks::done(std::uint64_t sample, std::uint32_t field) {
  if (when_ == Checksums::first && column_of_[field] != kNone) set(values_, bit_of(sample, field));
}

void ValueChecks::widen(std::uint64_t sample, std::uint32_t field, std::uint64_t length,
                        std::span<const ByteRange> ranges, std::vector<ByteRange>& widened) const {
  widened.clear();
  if (!wants(sample, field)) return;
  const RangeSums sums = dataset_.range_sums(sample, field);
  if (sums.size() == 0) {  // a value no longer than a range is read whole; otherwise the index lacks these sums
    if (length <= RangeSums::kRange && dataset_.crc32c(sample, field)) widened.push_back({0, length});
    return;
  }
  bool wider = false;
  for (const ByteRange& range : ranges) {
    if (range.begin >= range.end || range.end > length) continue;
    ByteRange part = range;
    const std::uint64_t first = range.begin / RangeSums::kRange, last = (range.end - 1) / RangeSums::kRange;
    for (std::uint64_t i = first; i <= last; ++i) {
      if (!wants_range(sample, field, sums.first + i)) continue;
      part = {first * RangeSums::kRange, std::min((last + 1) * RangeSums::kRange, length)};
      wider = true;
      break;
    }
    if (!widened.empty() && part.begin < widened.back().begin) {  // ranges are out of order: read the whole value
      widened.assign(1, {0, length});
      return;
    }
    if (!widened.empty() && part.begin <= widened.back().end)
      widened.back().end = std::max(widened.back().end, part.end);
    else
      widened.push_back(part);
  }
  if (!wider) widened.clear();
}

ValueChecks::Counts& ValueChecks::counts() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return counts_[mine % counts_.size()];
}

void ValueChecks::count_checked(std::uint64_t values, std::uint64_t bytes) {
  Counts& mine = counts();
  mine.checked.fetch_add(values, std::memory_order_relaxed);
  mine.checked_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void ValueChecks::count_unchecked(std::uint64_t bytes) {
  Counts& mine = counts();
  mine.unchecked.fetch_add(1, std::memory_order_relaxed);
  mine.unchecked_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

CheckStats ValueChecks::stats() const {
  CheckStats sum;
  for (const Counts& each : counts_) {
    sum.checked += each.checked.load(std::memory_order_relaxed);
    sum.checked_bytes += each.checked_bytes.load(std::memory_order_relaxed);
    sum.unchecked += each.unchecked.load(std::memory_order_relaxed);
    sum.unchecked_bytes += each.unchecked_bytes.load(std::memory_order_relaxed);
    sum.mismatches += each.mismatches.load(std::memory_order_relaxed);
  }
  return sum;
}

Error checksum_error(const Dataset& dataset, std::uint64_t sample, std::uint32_t field, std::uint64_t begin,
                     std::uint32_t recorded, std::uint32_t found) {
  ErrorContext where = error_location(dataset, sample, field);
  if (where.offset) *where.offset += begin;
  return Error::corrupt("the bytes have the CRC-32C " + digits_of(found) + ", but " + digits_of(recorded) +
                            " is recorded; they were read twice",
                        where);
}

std::vector<std::byte> read_again(const Dataset& dataset, std::uint64_t sample, std::uint32_t field,
                                  std::uint64_t begin, std::uint64_t length) {
  std::vector<Piece> pieces;
  if (!dataset.locate(sample, field, pieces)) throw Error::invalid_argument("the sample lacks this field");
  for (const Piece& piece : pieces) {
    if (piece.kind == Piece::Kind::extent) forget_pages(dataset, piece.extent);
    if (piece.kind == Piece::Kind::block) forget_pages(dataset, dataset.block(piece.block).extent);
  }
  if (pieces.size() != 1 || pieces[0].kind != Piece::Kind::extent) {
    std::vector<std::byte> whole = read_field(dataset, sample, field);
    if (begin > whole.size() || length > whole.size() - begin) throw Error::corrupt("the value has become shorter");
    return {whole.begin() + static_cast<std::ptrdiff_t>(begin),
            whole.begin() + static_cast<std::ptrdiff_t>(begin + length)};
  }
  const Extent& extent = pieces[0].extent;
  const std::filesystem::path path = dataset.file(extent.file).path;
  const auto source = open_byte_source(path, dataset.stored_object(extent.file), Access::anywhere);
  std::vector<std::byte> bytes(length);
  if (source->read(extent.offset + begin, bytes) != length)
    throw Error::corrupt("file ends inside the field", {.shard = path.string(), .offset = extent.offset + begin});
  return bytes;
}

}  // namespace penstock
