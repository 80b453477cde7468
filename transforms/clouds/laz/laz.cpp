#include <algorithm>
#include <limits>
#include <string>

#include <penstock/base/error.hpp>
#include <penstock/transforms/clouds/codecs/las_header.hpp>
#include <penstock/transforms/clouds/codecs/las_points.hpp>
#include <penstock/transforms/clouds/laz/chunk.hpp>
#include <penstock/transforms/clouds/laz/format.hpp>
#include <penstock/transforms/clouds/laz/laz.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kPrefix = 4096;
constexpr std::size_t kBatch = 4096;           // points decoded at a time: their records stay in the cache
constexpr std::uint32_t kUsualChunk = 50'000;  // what is said of chunks of different sizes

CloudHeader laz_cloud_header(const LasHeader& header, const LazFormat& format) {
  CloudHeader cloud = cloud_header(header);
  const std::uint64_t chunk = format.variable ? kUsualChunk : format.chunked ? format.chunk_points : header.points;
  const std::uint64_t most = std::min<std::uint64_t>(header.points, std::numeric_limits<std::uint32_t>::max());
  cloud.chunk_points =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(chunk, 1, std::max<std::uint64_t>(most, 1)));
  return cloud;
}

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
    set_wanted(asked_);
    set_format(std::move(format));
    held_ = false;
    cloud_ = laz_cloud_header(header_, format_);
    return cloud_;
  }

  void coordinates(const FieldBytes& field, const PointChoice& choice, float* out) override {
    if (stride_ == kLazCoordinates && choice.all) return stream_coordinates(field, out);
    las_coordinates(header_, held(field, choice), out);
  }

  void attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) override {
    const LasAttribute& attribute = header_.attributes.at(number);
    if (!wanted_[attribute.at]) want_all();
    las_attribute(attribute, held(field, choice), out);
  }

 private:
  void set_wanted(std::span<const std::string> names) {
    wanted_.assign(header_.record_bytes, false);
    stride_ = kLazCoordinates;
    for (const LasAttribute& attribute : header_.attributes) {
      if (std::find(names.begin(), names.end(), attribute.delivered.name) == names.end()) continue;
      std::fill_n(wanted_.begin() + attribute.at, size_of(attribute.stored), true);
      stride_ = header_.record_bytes;
    }
  }

  // Decoders are made anew only where a value's make differs from that of the one before.
  void set_format(LazFormat format) {
    auto alike = [](const LazItem& a, const LazItem& b) {
      return a.kind == b.kind && a.bytes == b.bytes && a.version == b.version;
    };
    const bool same =
        decoder_ && made_wanted_ == wanted_ &&
        std::equal(format.items.begin(), format.items.end(), format_.items.begin(), format_.items.end(), alike);
    format_ = std::move(format);
    if (same) return;
    decoder_ = format_.layered ? layered_laz_chunks(format_, wanted_) : pointwise_laz_chunks(format_);
    made_wanted_ = wanted_;
  }

  // An attribute was asked for that the options did not name.
  void want_all() {
    wanted_.assign(header_.record_bytes, true);
    stride_ = header_.record_bytes;
    set_format(LazFormat(format_));
    held_ = false;
  }

  // Calls each(chunk, number of the first point, its records, points) for batches of the chunk's first `count` points.
  template <class Each>
  void decode_chunk(const FieldBytes& field, const LazChunk& chunk, std::uint64_t count, Each each) {
    batch_.resize(kBatch * stride_);
    decoder_->begin(field.bytes.subspan(chunk.begin, chunk.end - chunk.begin));
    for (std::uint64_t done = 0; done < count;) {
      const std::size_t some = std::min<std::uint64_t>(kBatch, count - done);
      decoder_->decode(batch_.data(), stride_, some);
      each(chunk.first + done, some);
      done += some;
    }
  }

  // Chunk `number`; where there is no table, the ones behind the first are known once those before are decoded.
  const LazChunk* chunk(const FieldBytes& field, std::size_t number) const {
    if (number >= chunks_.size()) return nullptr;
    return chunk_lies_in(field, chunks_[number]) ? &chunks_[number] : nullptr;
  }
  static bool chunk_lies_in(const FieldBytes& field, const LazChunk& chunk) {
    return chunk.begin <= chunk.end && chunk.end <= field.bytes.size();
  }

  void add_next_chunk(const FieldBytes& field) {
    const LazChunk last = chunks_.back();
    const std::uint64_t first = last.first + last.points;
    if (first >= header_.points) return;
    const auto begin = static_cast<std::uint64_t>(decoder_->end() - field.bytes.data());
    const std::uint64_t points = std::min<std::uint64_t>(format_.chunk_points, header_.points - first);
    chunks_.push_back({first, points, begin, field.bytes.size()});
  }

  // Decodes chunks in order, as many points of each as `needed(chunk)` says; 0 skips it where a table allows.
  template <class Needed, class Each>
  void decode_chunks(const FieldBytes& field, Needed needed, Each each) {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const LazChunk* next = chunk(field, i);
      if (next == nullptr) throw Error::corrupt("laz: chunk " + std::to_string(i) + " lies outside the file");
      const bool last_known = i + 1 == chunks_.size() && next->first + next->points < header_.points;
      const LazChunk here = *next;
      const std::uint64_t count = last_known ? here.points : needed(here);
      if (count > 0) decode_chunk(field, here, count, each);
      if (last_known && needed({here.first + here.points, header_.points, 0, 0}) > 0) add_next_chunk(field);
    }
  }

  void stream_coordinates(const FieldBytes& field, float* out) {
    decode_chunks(
        field, [](const LazChunk& chunk) { return chunk.points; },
        [&](std::uint64_t first, std::size_t count) {
          las_coordinates(header_, {.first = batch_.data(), .stride = stride_, .count = count}, out + 3 * first);
        });
  }

  // The records of the points chosen, decoded unless they were just now.
  LasRecords held(const FieldBytes& field, const PointChoice& choice) {
    const bool same =
        held_ && held_all_ == choice.all &&
        std::equal(held_numbers_.begin(), held_numbers_.end(), choice.numbers.begin(), choice.numbers.end());
    if (!same) hold(field, choice);
    return {.first = records_.data(), .stride = stride_, .count = choice.count(header_.points)};
  }

  void hold(const FieldBytes& field, const PointChoice& choice) {
    held_ = false;
    used_ = 0;
    if (choice.all) {
      decode_chunks(
          field, [](const LazChunk& chunk) { return chunk.points; },
          [&](std::uint64_t, std::size_t count) { keep(batch_.data(), count * stride_); });
    } else {
      hold_chosen(field, choice.numbers);
    }
    held_all_ = choice.all;
    held_numbers_.assign(choice.numbers.begin(), choice.numbers.end());
    held_ = true;
  }

  void hold_chosen(const FieldBytes& field, std::span<const std::uint32_t> numbers) {
    if (!numbers.empty() && numbers.back() >= header_.points) throw Error::invalid_argument("laz: no such point");
    auto next = numbers.begin();
    auto needed = [&](const LazChunk& chunk) -> std::uint64_t {  // up to the last chosen one
      const auto behind = std::lower_bound(next, numbers.end(), chunk.first + chunk.points);
      return behind == next ? 0 : *(behind - 1) - chunk.first + 1;
    };
    decode_chunks(field, needed, [&](std::uint64_t first, std::size_t count) {
      for (; next != numbers.end() && *next < first + count; ++next) {
        keep(batch_.data() + (*next - first) * stride_, stride_);
      }
    });
  }

  // Memory grows with what was decoded, never by what a header says.
  void keep(const std::byte* records, std::size_t bytes) {
    if (records_.size() < used_ + bytes) records_.resize(std::max(used_ + bytes, records_.size() * 3 / 2));
    std::copy_n(records, bytes, records_.data() + used_);
    used_ += bytes;
  }

  std::vector<std::string> asked_;
  LasHeader header_;
  CloudHeader cloud_;
  LazFormat format_;
  std::vector<LazChunk> chunks_;
  std::vector<bool> wanted_, made_wanted_;  // bytes of a record
  std::size_t stride_ = 0;                  // of records as decoded: all of one, or the coordinates
  std::unique_ptr<LazChunkDecoder> decoder_;
  std::vector<std::byte> batch_, records_;
  std::size_t used_ = 0;  // of records_
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
