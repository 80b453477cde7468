#include <atomic>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include <formats/index/index.hpp>
#include <formats/index/row_key.hpp>
#include <formats/io/hash.hpp>
#include <order/tokens/block_samples.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMarkLetters = 6;
constexpr std::size_t kKeyWord = sizeof(std::uint64_t);

std::string letters_of(std::uint64_t mark) {
  std::string letters;
  for (std::size_t i = 0; i < kMarkLetters; ++i, mark >>= 5) letters += "abcdefghijklmnopqrstuvwxyz234567"[mark & 31];
  return letters + "-";
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> made{1};
  return made.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

BlockSamples::BlockSamples(std::unique_ptr<const TokenDocuments> documents, std::unique_ptr<const TokenLayout> layout,
                           std::uint64_t length, const TokenOptions& options, std::uint64_t mark)
    : documents_(std::move(documents)),
      layout_(std::move(layout)),
      length_(length),
      options_(options),
      number_(next_number()),
      pad_(documents_->stored(options.pad, "pad")),
      mark_(letters_of(mark)),
      key_bytes_(mark_.size() + row_key(0, layout_->blocks()).size()),
      key_words_((key_bytes_ + kKeyWord - 1) / kKeyWord),
      keys_(layout_->blocks() * key_words_, std::numeric_limits<std::uint64_t>::max()) {
  const Shape block{static_cast<std::int64_t>(length)};
  add_field(Kind::tokens,
            {.name = options.field, .codec = "tokens", .dtype = documents_->dtype(), .shape = block, .fixed = true});
  const auto add = [&](bool wanted, Kind kind, const char* name, const Shape& shape, bool fixed) {
    if (wanted) add_field(kind, {.name = name, .codec = "raw", .dtype = DType::i32, .shape = shape, .fixed = fixed});
  };
  add(options.positions, Kind::positions, "positions", block, true);
  add(options.segment_ids, Kind::segment_ids, "segment_ids", block, true);
  add(options.cu_lengths, Kind::cu_lengths, "cu_lengths", {-1}, false);
  if (fields_.size() == 1) return;
  table_.resize(length + 1);
  std::iota(table_.begin(), table_.end(), 0);
}

void BlockSamples::add_field(Kind kind, FieldSchema schema) {
  fields_.push_back(std::move(schema));
  kinds_.push_back(kind);
}

std::string BlockSamples::written_key(std::uint64_t sample) const {
  return mark_ + row_key(sample, size());
}

std::string_view BlockSamples::key(std::uint64_t sample) const {
  const std::span<std::uint64_t> words = keys_.longs().subspan(sample * key_words_, key_words_);
  const std::string_view text(reinterpret_cast<const char*>(words.data()), key_bytes_);
  // The last word is written last. If it is there, the whole key is there.
  if (std::atomic_ref(words.back()).load(std::memory_order_acquire) != 0) return text;
  const std::string key = written_key(sample);
  for (std::size_t word = 0; word < key_words_; ++word) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, key.data() + word * kKeyWord, std::min(kKeyWord, key.size() - word * kKeyWord));
    // Never overwrites a word that another thread may be reading.
    const std::atomic_ref place(words[word]);
    std::uint64_t unwritten = place.load(std::memory_order_acquire);
    if (unwritten == 0) place.compare_exchange_strong(unwritten, bytes, std::memory_order_acq_rel);
  }
  return text;
}

std::optional<std::uint64_t> BlockSamples::find(std::string_view key) const {
  if (!key.starts_with(mark_)) return std::nullopt;
  const std::string_view digits = key.substr(mark_.size());
  std::uint64_t sample = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), sample);
  if (failure != std::errc() || sample >= size() || written_key(sample) != key) return std::nullopt;
  return sample;
}

std::uint64_t BlockSamples::key_hash() const {
  const std::uint64_t multiplier = key_hash_power(1);
  std::uint64_t hash = 0;
  for (std::uint64_t sample = 0; sample < size(); ++sample) hash = hash * multiplier + hash64(written_key(sample));
  return hash;
}

// Each thread remembers the last block, because its fields are requested one after the other.
const std::vector<TokenSegment>& BlockSamples::segments_of(std::uint64_t sample) const {
  static thread_local struct {
    std::uint64_t of = 0, sample = 0;
    std::vector<TokenSegment> segments;
  } last;
  if (last.of == number_ && last.sample == sample) return last.segments;
  // Stays invalid if find() throws.
  last.of = 0;
  layout_->find(sample, last.segments);
  last.of = number_;
  last.sample = sample;
  return last.segments;
}

Piece BlockSamples::numbers(std::uint64_t first, std::uint64_t count) const {
  const auto bytes = std::as_bytes(std::span(table_).subspan(first, count));
  return {.kind = Piece::Kind::bytes, .length = bytes.size(), .inline_bytes = bytes};
}

Piece BlockSamples::repeated(std::uint64_t number, std::uint64_t count) const {
  const auto pattern = std::as_bytes(std::span(table_).subspan(number, 1));
  return {.kind = Piece::Kind::fill, .length = count * pattern.size(), .inline_bytes = pattern};
}

void BlockSamples::locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const {
  const Kind kind = kinds_.at(field);
  std::uint64_t filled = 0;
  if (kind == Kind::tokens) {
    // A copy: documents that are blocks themselves may call segments_of().
    const std::vector<TokenSegment> segments = segments_of(sample);
    for (const TokenSegment& segment : segments) {
      documents_->locate(segment.position, segment.first, segment.count, pieces);
      filled += segment.count;
    }
    if (filled < length_) {
      pieces.push_back({.kind = Piece::Kind::fill, .length = (length_ - filled) * pad_.size(), .inline_bytes = pad_});
    }
    return;
  }
  std::uint64_t number = 0;
  if (kind == Kind::cu_lengths) pieces.push_back(numbers(0, 1));
  for (const TokenSegment& segment : segments_of(sample)) {
    filled += segment.count;
    if (kind == Kind::positions) pieces.push_back(numbers(0, segment.count));
    if (kind == Kind::segment_ids) pieces.push_back(repeated(++number, segment.count));
    if (kind == Kind::cu_lengths) pieces.push_back(numbers(filled, 1));
  }
  if (kind != Kind::cu_lengths && filled < length_) pieces.push_back(repeated(0, length_ - filled));
}

std::uint64_t BlockSamples::length(std::uint64_t sample, std::uint32_t field) const {
  if (kinds_.at(field) == Kind::cu_lengths) return (segments_of(sample).size() + 1) * sizeof(std::int32_t);
  return length_ * size_of(fields_[field].dtype);
}

}  // namespace penstock
