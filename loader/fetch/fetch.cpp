#include <algorithm>
#include <limits>

#include <loader/batch/row_slots.hpp>
#include <loader/fetch/fetch.hpp>
#include <order/serving_field.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint32_t kInSlot = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kMissing = kInSlot - 1;  // only for outputs that go without their field
constexpr std::uint64_t kFieldAlignment = 64;
constexpr std::uint64_t kPage = 4096;
// Limit for a sample's values: the size of an address space.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr std::size_t kFewRanges = 16;  ///< up to this many ranges are read separately without counting pages

std::uint64_t total_length(std::span<const Piece> pieces) {
  std::uint64_t length = 0;
  for (const Piece& piece : pieces) {
    if (piece.length > kMostBytes - length) {
      throw Error::corrupt("the value would have " + std::to_string(piece.length) + " bytes: no memory is that large");
    }
    length += piece.length;
  }
  return length;
}

}  // namespace

const FieldFetch* Fetch::of(std::uint32_t output) const {
  return fetch_of_[output] >= kMissing ? nullptr : &fields_[fetch_of_[output]];
}

bool Fetch::is_missing(std::uint32_t output) const {
  return fetch_of_[output] == kMissing;
}

// A cached row needs no field.
bool Fetch::add_row(const FetchFrom& from, std::uint32_t output, const SampleContext& sample,
                    std::span<std::byte> slot) {
  const SampleCache::Column column = from.cache->row_of(output);
  if (column == SampleCache::kNone) return false;
  const auto kept = from.cache->find(sample.sample, column);
  ++(kept ? hits_ : misses_);
  if (!kept) return false;
  copy(kept->bytes, slot.data());
  return true;
}

bool Fetch::add_kept(const FetchFrom& from, std::uint32_t output, std::uint32_t field, const SampleContext& sample,
                     std::span<std::byte> slot) {
  const SampleCache::Column column = from.cache->value_of(output, field);
  if (column == SampleCache::kNone) return false;
  auto kept = from.cache->find(sample.sample, column);
  // Shared memory may contain a value of another size.
  if (kept && slot.data() != nullptr && kept->bytes.size() != slot.size()) kept.reset();
  ++(kept ? hits_ : misses_);
  if (!kept) return false;
  if (slot.data() != nullptr) {
    copy(kept->bytes, slot.data());
    return true;
  }
  if (used_ == fields_.size()) fields_.emplace_back();
  FieldFetch& fetch = fields_[used_];
  fetch_of_[output] = static_cast<std::uint32_t>(used_++);
  fetch.field = field;
  fetch.begin = fetch.length = fetch.selected = 0;
  fetch.ranges.clear();
  fetch.widened.clear();
  fetch.kept = kept;
  fetch.pixels = from.cache->holds_pixels(column);
  return true;
}

void Fetch::copy(std::span<const std::byte> bytes, std::byte* slot) {
  if (bytes.empty()) return;
  Piece piece;
  piece.kind = Piece::Kind::bytes;
  piece.length = bytes.size();
  piece.inline_bytes = bytes;
  specials_.push_back({piece, {slot, 0}});
}

bool Fetch::is_offloaded(const RowSlots& slots, std::uint32_t output) const {
  return slots.offload != nullptr && pieces_.size() == 1 && pieces_[0].kind == Piece::Kind::extent &&
         slots.offload->take_stored(output, slots.row, pieces_[0].extent);
}

void Fetch::plan(const FetchFrom& from, const SampleContext& sample, const RowSlots& slots) {
  if (std::ranges::binary_search(from.unreadable, sample.key, std::ranges::less()))
    throw Error::corrupt("the option `unreadable` names the sample");
  const std::span<const Output> outputs = from.program.outputs();
  used_ = 0;
  bytes_ = stored_ = 0;
  hits_ = misses_ = 0;
  reads_.clear();
  specials_.clear();
  in_slots_.clear();
  field_of_.assign(outputs.size(), 0);
  fetch_of_.assign(outputs.size(), kInSlot);
  if (slots.offload != nullptr) slots.offload->clear_row(slots.row);
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (slots.leaves_out(i)) continue;
    if (from.cache != nullptr && add_row(from, i, sample, slots.places[i])) continue;
    const auto field = filling_field(from.dataset, outputs, i, sample.sample, pieces_);
    if (!field && outputs[i].goes_without_field()) {
      fetch_of_[i] = kMissing;
      continue;
    }
    if (!field) throw Error::invalid_argument("the sample has no field for output '" + outputs[i].name + "'");
    field_of_[i] = *field;
    if (from.cache != nullptr && add_kept(from, i, *field, sample, slots.verbatim[i])) continue;
    const std::uint64_t length = total_length(pieces_);
    const std::span<std::byte> slot = slots.verbatim[i];
    if (slot.data() == nullptr) {
      add(from, i, *field, sample);
    } else if (length != slot.size()) {
      throw Error::shape("the stored value has " + std::to_string(length) + " bytes, but a row of this output has " +
                             std::to_string(slot.size()),
                         {.field = outputs[i].name});
    } else if (is_offloaded(slots, i)) {
      if (from.checks != nullptr) in_slots_.push_back({*field, slot, kOffloaded});
    } else {
      check_in_slot(from, sample.sample, *field, slot);
      place(pieces_, slot.data(), 0);
      stored_ += length;
    }
  }
  // Linux may grant more memory than it has and then kill the process when it is touched
  if (bytes_ > physical_memory()) {
    throw Error::resource("the sample's values take " + std::to_string(bytes_) + " bytes, more than this machine's " +
                          std::to_string(physical_memory()) + " bytes of memory");
  }
}

// Notes the check of the value that is placed next.
void Fetch::check_in_slot(const FetchFrom& from, std::uint64_t sample, std::uint32_t field, std::span<std::byte> slot) {
  if (from.checks == nullptr || !from.checks->wants(sample, field)) return;
  const bool one_read = pieces_.size() == 1 && pieces_[0].kind == Piece::Kind::extent && pieces_[0].length != 0;
  in_slots_.push_back({field, slot, one_read ? reads_.size() : kSeveral});
}

void Fetch::select(const FetchFrom& from, std::uint32_t output, const FieldHeader& header,
                   const SampleContext& sample) {
  if (!from.program.select(output, header, sample, ranges_)) ranges_.clear();
  if (!from.by_page || !from.program.outputs()[output].scattered || ranges_.size() < kFewRanges) return;
  std::uint64_t pages = 0, next = 0;  // the first page not counted yet
  for (const ByteRange& range : ranges_) {
    const std::uint64_t first = std::max(next, range.begin / kPage), end = (range.end + kPage - 1) / kPage;
    if (end > first) pages += end - first;
    next = std::max(next, end);
  }
  if (2 * pages * kPage > header.length) ranges_.clear();
}

// A paired output needs the same parts of a field as its leader. Reusing them avoids a second search and comparison.
bool Fetch::shares_with_leader(const FetchFrom& from, std::uint32_t output, std::uint32_t field) {
  const auto leader = from.program.leader(output);
  if (!leader || *leader >= output || field_of_[*leader] != field || fetch_of_[*leader] >= kMissing) return false;
  fetch_of_[output] = fetch_of_[*leader];
  return true;
}

// An image is read whole if the cache has room for it, because the cache keeps the whole image.
bool Fetch::is_kept_whole(const FetchFrom& from, std::uint32_t output, std::uint32_t field,
                          const SampleContext& sample) const {
  const RowKind kind = from.program.outputs()[output].kind;
  if (from.cache == nullptr || (kind != RowKind::image && kind != RowKind::image_channels_last)) return false;
  const SampleCache::Column column = from.cache->value_of(output, field);
  return column != SampleCache::kNone && from.cache->wants(sample.sample, column);
}

void Fetch::add(const FetchFrom& from, std::uint32_t output, std::uint32_t field, const SampleContext& sample) {
  const std::uint64_t length = total_length(pieces_);
  const bool one_extent = pieces_.size() == 1 && pieces_[0].kind == Piece::Kind::extent;
  ranges_.clear();
  if (one_extent && from.program.outputs()[output].partial && !is_kept_whole(from, output, field, sample)) {
    if (shares_with_leader(from, output, field)) return;
    select(from, output,
           {&from.dataset.fields()[field], from.headers.of(sample.sample, field, pieces_[0].extent, header_), length},
           sample);
  }

  for (std::uint32_t i = 0; i < used_; ++i) {  // reuse the fetch of another output that reads the same bytes
    if (fields_[i].field == field && fields_[i].ranges == ranges_ && !fields_[i].kept) {
      fetch_of_[output] = i;
      return;
    }
  }
  if (used_ == fields_.size()) fields_.emplace_back();
  FieldFetch& fetch = fields_[used_];
  fetch_of_[output] = static_cast<std::uint32_t>(used_++);
  fetch.field = field;
  fetch.begin = bytes_;
  fetch.kept.reset();
  fetch.ranges.assign(ranges_.begin(), ranges_.end());
  fetch.widened.clear();
  if (fetch.ranges.empty()) {
    fetch.length = fetch.selected = length;
    place(pieces_, nullptr, fetch.begin);
  } else {
    fetch.selected = 0;
    for (const ByteRange& range : fetch.ranges) {
      if (range.begin > range.end || range.end > length) {
        throw Error::corrupt("the codec selects bytes " + std::to_string(range.begin) + " to " +
                             std::to_string(range.end) + " of a value of length " + std::to_string(length));
      }
      fetch.selected += range.end - range.begin;
    }
    fetch.length = fetch.selected;
    if (from.checks != nullptr) from.checks->widen(sample.sample, field, length, fetch.ranges, fetch.widened);
    if (!fetch.widened.empty()) {
      fetch.length = 0;
      for (const ByteRange& range : fetch.widened) fetch.length += range.end - range.begin;
    }
    place_ranges(fetch.begin, fetch.widened.empty() ? fetch.ranges : fetch.widened, pieces_[0]);
  }
  stored_ += fetch.length;
  if (fetch.length > kMostBytes - bytes_) throw Error::corrupt("the sample's values are larger than any memory");
  bytes_ = (bytes_ + fetch.length + kFieldAlignment - 1) / kFieldAlignment * kFieldAlignment;
}

void Fetch::place(std::span<const Piece> pieces, std::byte* slot, std::uint64_t offset) {
  for (const Piece& piece : pieces) {
    if (piece.kind == Piece::Kind::extent) {
      const bool summed = slot != nullptr && !in_slots_.empty() && in_slots_.back().read == reads_.size();
      if (piece.length != 0) reads_.push_back({piece.extent, {slot, offset}, summed});
    } else {
      specials_.push_back({piece, {slot, offset}});
    }
    if (slot != nullptr) {
      slot += piece.length;
    } else {
      offset += piece.length;
    }
  }
}

void Fetch::place_ranges(std::uint64_t begin, std::span<const ByteRange> ranges, const Piece& piece) {
  std::uint64_t offset = begin;
  for (const ByteRange& range : ranges) {
    const Extent part{piece.extent.file, piece.extent.offset + range.begin, range.end - range.begin};
    if (part.length != 0) reads_.push_back({part, nullptr, offset});
    offset += part.length;
  }
}

}  // namespace penstock
