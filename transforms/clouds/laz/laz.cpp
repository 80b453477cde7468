#include <algorithm>
#include <limits>
#include <string>

#include <penstock/error.hpp>
#include <transforms/clouds/codecs/las_header.hpp>
#include <transforms/clouds/codecs/las_points.hpp>
#include <transforms/clouds/laz/chunk.hpp>
#include <transforms/clouds/laz/format.hpp>
#include <transforms/clouds/laz/laz.hpp>
#include <transforms/decoders.hpp>
#include <transforms/pieces.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kPrefix = 4096;
constexpr std::size_t kBatch = 4096;           // points decoded at a time; their records stay in the cache
constexpr std::uint32_t kUsualChunk = 50'000;  // stated for chunks of different sizes

// From this number of points on, other threads help: one thread takes 4 ms or more, at 130 to 350 ns per point. A piece
// is a chunk, or several small chunks.
constexpr std::uint64_t kSharedPoints = std::uint64_t{1} << 15;
constexpr std::uint64_t kPiecePoints = kSharedPoints / 4;
// Extracting values from decoded records takes only 2 to 4 ns per record, so threads help from this number on.
constexpr std::uint64_t kSharedRecords = std::uint64_t{1} << 20;
constexpr std::uint64_t kPieceRecords = kSharedRecords / 4;
// Real files expand 2 to 12 times. Up to this factor, memory for all records is allocated before decoding. Beyond it
// the header may be wrong, so memory grows with the decoded points.
constexpr std::uint64_t kMostExpansion = 64;

CloudHeader laz_cloud_header(const LasHeader& header, const LazFormat& format) {
  CloudHeader cloud = cloud_header(header);
  const std::uint64_t chunk = format.variable ? kUsualChunk : format.chunked ? format.chunk_points : header.points;
  const std::uint64_t most = std::min<std::uint64_t>(header.points, std::numeric_limits<std::uint32_t>::max());
  cloud.chunk_points =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(chunk, 1, std::max<std::uint64_t>(most, 1)));
  return cloud;
}

/// Growing memory that leaves new bytes uninitialised.
class RecordMemory {
 public:
  std::byte* data() { return memory_.get(); }
  /// Starts with room for `bytes`, without content.
  void begin(std::uint64_t bytes) {
    used_ = 0;
    reach(bytes);
  }
  /// Grows to `bytes` in all, and keeps the content.
  void reach(std::uint64_t bytes) {
    if (bytes > capacity_) {
      const std::uint64_t more = std::max(bytes, used_ == 0 ? 0 : capacity_ * 3 / 2);
      auto grown = std::make_unique_for_overwrite<std::byte[]>(more);
      std::copy_n(memory_.get(), used_, grown.get());
      memory_ = std::move(grown);
      capacity_ = more;
    }
    used_ = bytes;
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::uint64_t capacity_ = 0, used_ = 0;
};

class LazDecoder final : public CloudDecoder {
 public:
  explicit LazDecoder(const DecodeOptions& options) : asked_(options.attributes) {}

  const CloudHeader& open(const FieldBytes& field) override {
    if (!field.ranges.empty()) throw Error::invalid_argument("laz: parts of a value cannot be decoded");
    header_ = read_las_file(field.bytes, field.bytes.size());
    if (!header_.compressed) throw Error::unsupported("laz: the points are not compressed (LAS)");
    check_laz_points(header_, field.bytes.size());
    LazFormat format = read_laz_format(header_);
    chunks_ = read_laz_chunks(header_, format, field.bytes);
    if (header_.points > 0) move_origin(header_, first_position(field));
    set_wanted(asked_);
    set_format(std::move(format));
    held_ = false;
    cloud_ = laz_cloud_header(header_, format_);
    return cloud_;
  }

  void coordinates(const FieldBytes& field, const PointChoice& choice, float* out) override {
    if (stride_ == kLazCoordinates && choice.all) return stream_coordinates(field, out);
    if (choice.all && !holds(choice)) return hold_all(field, out);
    for_records(held(field, choice),
                [&](const LasRecords& some, std::uint64_t first) { las_coordinates(header_, some, out + 3 * first); });
  }

  void attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) override {
    const LasAttribute& attribute = header_.attributes.at(number);
    if (!wanted_[attribute.at]) want_all();
    for_records(held(field, choice), [&](const LasRecords& some, std::uint64_t first) {
      las_attribute(attribute, some, out + first * size_of(attribute.delivered.dtype));
    });
  }

  void share(Parallel* parallel) override { parallel_ = parallel; }

 private:
  // The first point of a chunk is not compressed.
  std::span<const std::byte> first_position(const FieldBytes& field) const {
    std::size_t number = 0;
    while (number + 1 < chunks_.size() && chunks_[number].points == 0) ++number;
    const LazChunk& first = checked_chunk(field, number);
    if (first.end - first.begin < kLasPosition) {
      throw Error::corrupt("laz: chunk " + std::to_string(number) + " ends within its first point");
    }
    return field.bytes.subspan(first.begin, kLasPosition);
  }

  /// Scratch memory to decode a chunk, below 2 MiB. Each helping thread has one.
  struct Scratch {
    std::unique_ptr<LazChunkDecoder> decoder;
    std::vector<std::byte> batch;
  };

  void set_wanted(std::span<const std::string> names) {
    wanted_.assign(header_.record_bytes, false);
    stride_ = kLazCoordinates;
    for (const LasAttribute& attribute : header_.attributes) {
      if (std::find(names.begin(), names.end(), attribute.delivered.name) == names.end()) continue;
      std::fill_n(wanted_.begin() + attribute.at, size_of(attribute.stored), true);
      stride_ = header_.record_bytes;
    }
  }

  // Creates decoders only if the format differs from the previous value's.
  void set_format(LazFormat format) {
    auto alike = [](const LazItem& a, const LazItem& b) {
      return a.kind == b.kind && a.bytes == b.bytes && a.version == b.version;
    };
    const bool same =
        own_.decoder && made_wanted_ == wanted_ &&
        std::equal(format.items.begin(), format.items.end(), format_.items.begin(), format_.items.end(), alike);
    format_ = std::move(format);
    if (same) return;
    own_.decoder = chunk_decoder();
    made_wanted_ = wanted_;
  }
  std::unique_ptr<LazChunkDecoder> chunk_decoder() const {
    return format_.layered ? layered_laz_chunks(format_, wanted_) : pointwise_laz_chunks(format_);
  }

  // Decodes whole records from now on. Called if a requested attribute was not named in the options.
  void want_all() {
    wanted_.assign(header_.record_bytes, true);
    stride_ = header_.record_bytes;
    set_format(LazFormat(format_));
    held_ = false;
  }

  // Calls each(number of the first point, points, their records) for batches of the chunk's first `count` points.
  template <class Each>
  void decode_chunk(const FieldBytes& field, const LazChunk& chunk, std::uint64_t count, Scratch& scratch,
                    const Each& each) const {
    scratch.batch.resize(kBatch * stride_);
    scratch.decoder->begin(field.bytes.subspan(chunk.begin, chunk.end - chunk.begin));
    for (std::uint64_t done = 0; done < count;) {
      const std::size_t some = std::min<std::uint64_t>(kBatch, count - done);
      scratch.decoder->decode(scratch.batch.data(), stride_, some);
      each(chunk.first + done, some, scratch.batch.data());
      done += some;
    }
  }

  const LazChunk& checked_chunk(const FieldBytes& field, std::size_t number) const {
    const LazChunk& chunk = chunks_[number];
    if (chunk.begin <= chunk.end && chunk.end <= field.bytes.size()) return chunk;
    throw Error::corrupt("laz: chunk " + std::to_string(number) + " is outside the file");
  }

  void add_next_chunk(const FieldBytes& field) {
    const LazChunk last = chunks_.back();
    const std::uint64_t first = last.first + last.points;
    if (first >= header_.points) return;
    const auto begin = static_cast<std::uint64_t>(own_.decoder->end() - field.bytes.data());
    const std::uint64_t points = std::min<std::uint64_t>(format_.chunk_points, header_.points - first);
    chunks_.push_back({first, points, begin, field.bytes.size()});
  }

  // Decodes the first `needed(chunk)` points of each chunk. 0 skips the chunk if the file has a table. Calls `each`
  // like decode_chunk(), for points in any order, possibly on several threads at once.
  template <class Needed, class Each>
  void decode_chunks(const FieldBytes& field, bool may_share, const Needed& needed, const Each& each) {
    if (may_share && cut_pieces(needed)) return decode_pieces(field, needed, each);
    // Without a table, the start of a chunk is only known after the previous chunk was decoded.
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const LazChunk here = checked_chunk(field, i);
      const bool last_known = i + 1 == chunks_.size() && here.first + here.points < header_.points;
      const std::uint64_t count = last_known ? here.points : needed(here);
      if (count > 0) decode_chunk(field, here, count, own_, each);
      if (last_known && needed({here.first + here.points, header_.points, 0, 0}) > 0) add_next_chunk(field);
    }
  }

  // Stores the first chunk of each piece. Returns false if one thread should decode all chunks.
  template <class Needed>
  bool cut_pieces(const Needed& needed) {
    if (parallel_ == nullptr || chunks_.size() < 2 || header_.points < kSharedPoints) return false;
    if (chunks_.back().first + chunks_.back().points < header_.points) return false;  // no table
    pieces_.clear();
    std::uint64_t points = 0, in_piece = kPiecePoints;
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      if (in_piece >= kPiecePoints) pieces_.push_back(i), in_piece = 0;
      const std::uint64_t count = needed(chunks_[i]);
      points += count;
      in_piece += count;
    }
    return points >= kSharedPoints;
  }

  template <class Needed, class Each>
  void decode_pieces(const FieldBytes& field, const Needed& needed, const Each& each) {
    PieceScratch<Scratch> scratch(own_);
    const auto make = [this] { return std::make_unique<Scratch>(Scratch{.decoder = chunk_decoder(), .batch = {}}); };
    run_pieces(parallel_, static_cast<std::uint32_t>(pieces_.size()), [&](std::uint32_t piece) {
      const std::size_t end = piece + 1 < pieces_.size() ? pieces_[piece + 1] : chunks_.size();
      scratch.lend(make, [&](Scratch& mine) {
        for (std::size_t i = pieces_[piece]; i < end; ++i) {
          const LazChunk& here = checked_chunk(field, i);
          if (const std::uint64_t count = needed(here); count > 0) decode_chunk(field, here, count, mine, each);
        }
      });
    });
  }

  // Calls each(part of the records, number of the first), on several threads if there are many records.
  template <class Each>
  void for_records(const LasRecords& records, const Each& each) const {
    if (parallel_ == nullptr || records.count < kSharedRecords) return each(records, 0);
    run_bands(parallel_, records.count, kPieceRecords, [&](std::uint64_t begin, std::uint64_t end) {
      each({.first = records.first + begin * records.stride, .stride = records.stride, .count = end - begin}, begin);
    });
  }

  static std::uint64_t all_of(const LazChunk& chunk) { return chunk.points; }

  void stream_coordinates(const FieldBytes& field, float* out) {
    decode_chunks(field, true, all_of, [&](std::uint64_t first, std::size_t count, const std::byte* records) {
      las_coordinates(header_, {.first = records, .stride = stride_, .count = count}, out + 3 * first);
    });
  }

  bool holds(const PointChoice& choice) const {
    return held_ && held_all_ == choice.all &&
           std::equal(held_numbers_.begin(), held_numbers_.end(), choice.numbers.begin(), choice.numbers.end());
  }

  // Returns the records of the chosen points. Decodes them unless the last call did.
  LasRecords held(const FieldBytes& field, const PointChoice& choice) {
    if (!holds(choice)) {
      if (choice.all) {
        hold_all(field, nullptr);
      } else {
        hold_chosen(field, choice.numbers);
      }
    }
    return {.first = records_.data(), .stride = stride_, .count = choice.count(header_.points)};
  }

  // Also writes the coordinates to `out` (unless null), while the records are in the processor's cache.
  void hold_all(const FieldBytes& field, float* out) {
    held_ = false;
    const std::uint64_t bytes = header_.points * stride_;
    const bool plausible = bytes / kMostExpansion <= field.bytes.size();
    records_.begin(plausible ? bytes : 0);
    decode_chunks(field, plausible, all_of, [&](std::uint64_t first, std::size_t count, const std::byte* records) {
      if (!plausible) records_.reach((first + count) * stride_);
      std::copy_n(records, count * stride_, records_.data() + first * stride_);
      if (out != nullptr)
        las_coordinates(header_, {.first = records, .stride = stride_, .count = count}, out + 3 * first);
    });
    now_held(true, {});
  }

  void hold_chosen(const FieldBytes& field, std::span<const std::uint32_t> numbers) {
    held_ = false;
    if (!numbers.empty() && numbers.back() >= header_.points) throw Error::invalid_argument("laz: no such point");
    const auto from = [&](std::uint64_t point) { return std::lower_bound(numbers.begin(), numbers.end(), point); };
    // A chunk is decoded up to its last chosen point.
    const auto needed = [&](const LazChunk& chunk) -> std::uint64_t {
      const auto behind = from(chunk.first + chunk.points);
      return behind == from(chunk.first) ? 0 : *(behind - 1) - chunk.first + 1;
    };
    records_.begin(numbers.size() * stride_);
    decode_chunks(field, true, needed, [&](std::uint64_t first, std::size_t count, const std::byte* records) {
      for (auto next = from(first); next != numbers.end() && *next < first + count; ++next) {
        const auto place = static_cast<std::size_t>(next - numbers.begin());
        std::copy_n(records + (*next - first) * stride_, stride_, records_.data() + place * stride_);
      }
    });
    now_held(false, numbers);
  }

  void now_held(bool all, std::span<const std::uint32_t> numbers) {
    held_all_ = all;
    held_numbers_.assign(numbers.begin(), numbers.end());
    held_ = true;
  }

  std::vector<std::string> asked_;
  LasHeader header_;
  CloudHeader cloud_;
  LazFormat format_;
  std::vector<LazChunk> chunks_;
  std::vector<bool> wanted_, made_wanted_;  // by byte of a record
  std::size_t stride_ = 0;                  // length of decoded records: whole ones, or coordinates only
  Parallel* parallel_ = nullptr;
  Scratch own_;
  std::vector<std::size_t> pieces_;  // first chunk of each piece that threads share
  RecordMemory records_;
  bool held_ = false, held_all_ = false;
  std::vector<std::uint32_t> held_numbers_;
};

class LazCodec final : public CloudCodec {
 public:
  std::string_view name() const override { return "laz"; }
  bool recognises(std::span<const std::byte> first_bytes) const override { return is_laz(first_bytes); }
  std::unique_ptr<CloudDecoder> cloud_decoder(const DecodeOptions& options) const override {
    return std::make_unique<LazDecoder>(options);
  }
  std::uint64_t prefix_bytes() const override { return kPrefix; }
  std::vector<std::byte> header(std::span<const std::byte> bytes) const override { return recorded_las_header(bytes); }

  std::optional<CloudHeader> cloud(const FieldHeader& field) const override {
    const std::optional<LasHeader> header = read_recorded_las_header(field.header);
    if (!header || !header->compressed) return std::nullopt;
    check_laz_points(*header, field.length);
    return laz_cloud_header(*header, read_laz_format(*header));
  }
};

}  // namespace

const CloudCodec& laz_codec() {
  static const LazCodec codec;
  return codec;
}

}  // namespace penstock
