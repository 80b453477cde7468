#include <algorithm>

#include <penstock/error.hpp>
#include <transforms/clouds/codecs/las.hpp>
#include <transforms/clouds/codecs/las_header.hpp>
#include <transforms/clouds/codecs/las_points.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kJoinedGap = 64;  // largest gap in bytes over which two records are read as one range
constexpr std::uint64_t kPrefix = 4096;   // holds the header and the VLR of extra bytes of most files

class LasDecoder final : public CloudDecoder {
 public:
  const CloudHeader& open(const FieldBytes& field) override {
    if (field.ranges.empty()) {
      header_ = read_las_file(field.bytes, field.bytes.size());
      // Only the header and some records were read. select_points() has checked the field's length.
    } else {
      auto header = read_las_header(field.bytes.first(std::min(field.ranges[0].end, field.bytes.size())));
      if (!header) throw Error::corrupt("las: ends within the header");
      header_ = *std::move(header);
    }
    if (header_.compressed) throw Error::unsupported("las: the points are compressed (LAZ)");
    if (header_.points > 0) move_origin(header_, first_position(field));
    cloud_ = cloud_header(header_);
    return cloud_;
  }

  void coordinates(const FieldBytes& field, const PointChoice& choice, float* out) override {
    las_coordinates(header_, records(field, choice), out);
  }

  void attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) override {
    las_attribute(header_.attributes.at(number), records(field, choice), out);
  }

 private:
  // select_points() reads the first point's position at the end of the first or second range.
  std::span<const std::byte> first_position(const FieldBytes& field) const {
    const std::uint64_t begin = header_.data_begin, end = begin + kLasPosition;
    if (field.ranges.empty()) return field.bytes.subspan(begin, kLasPosition);
    std::uint64_t here = 0;  // offset of the range in field.bytes
    for (const ByteRange& range : field.ranges) {
      if (range.begin <= begin && end <= range.end && here + end - range.begin <= field.bytes.size()) {
        return field.bytes.subspan(here + begin - range.begin, kLasPosition);
      }
      here += range.end - range.begin;
    }
    throw Error::invalid_argument("las: the first point was not read");
  }

  LasRecords records(const FieldBytes& field, const PointChoice& choice) {
    LasRecords records{
        .first = field.bytes.data(), .stride = header_.record_bytes, .count = choice.count(header_.points)};
    if (choice.all) {
      check_las_points(header_, field.bytes.size());
      records.first += records.count == 0 ? 0 : header_.data_begin;
      return records;
    }
    at_.clear();
    if (field.ranges.empty()) {
      place(choice.numbers, 0, ~std::uint64_t{0}, 0);
    } else {
      place_in_ranges(field, choice.numbers);
    }
    if (!at_.empty() && at_.back() + header_.record_bytes > field.bytes.size()) {
      throw Error::corrupt("las: the bytes end before the last point that was chosen");
    }
    records.at = at_;
    return records;
  }

  // Places the records of `numbers`, from index `next` on, that begin before file offset `end`. `shift` is the file
  // offset of the first byte in memory. Returns the index of the next number.
  std::size_t place(std::span<const std::uint32_t> numbers, std::size_t next, std::uint64_t end, std::uint64_t shift) {
    for (; next < numbers.size(); ++next) {
      if (numbers[next] >= header_.points) throw Error::invalid_argument("las: no such point");
      const std::uint64_t at = header_.data_begin + numbers[next] * std::uint64_t{header_.record_bytes};
      if (at >= end) break;
      at_.push_back(at - shift);
    }
    return next;
  }

  void place_in_ranges(const FieldBytes& field, std::span<const std::uint32_t> numbers) {
    std::uint64_t here = 0;  // offset of the range in field.bytes
    std::size_t next = 0;
    for (const ByteRange& range : field.ranges) {
      next = place(numbers, next, range.end, range.begin - here);
      here += range.end - range.begin;
    }
    if (next != numbers.size()) throw Error::invalid_argument("las: a chosen point was not read");
  }

  LasHeader header_;
  CloudHeader cloud_;
  std::vector<std::uint64_t> at_;  // offsets of the chosen records in the field's bytes
};

class LasCodec final : public CloudCodec {
 public:
  std::string_view name() const override { return "las"; }
  bool recognises(std::span<const std::byte> first_bytes) const override { return is_las(first_bytes); }
  std::unique_ptr<CloudDecoder> cloud_decoder(const DecodeOptions&) const override {
    return std::make_unique<LasDecoder>();
  }
  std::uint64_t prefix_bytes() const override { return kPrefix; }
  std::vector<std::byte> header(std::span<const std::byte> bytes) const override { return recorded_las_header(bytes); }

  std::optional<CloudHeader> cloud(const FieldHeader& field) const override {
    const std::optional<LasHeader> header = checked(field);
    return header ? std::optional(cloud_header(*header)) : std::nullopt;
  }

  bool select_points(const FieldHeader& field, std::span<const std::uint32_t> numbers,
                     std::vector<ByteRange>& ranges) const override {
    const std::optional<LasHeader> header = checked(field);
    if (!header) return false;
    if (!numbers.empty() && numbers.back() >= header->points) throw Error::invalid_argument("las: no such point");
    ranges.push_back({0, header->head_bytes});
    const auto add = [&](std::uint64_t begin, std::uint64_t bytes) {
      if (begin > ranges.back().end + kJoinedGap) {
        ranges.push_back({begin, begin + bytes});
      } else {
        ranges.back().end = begin + bytes;
      }
    };
    if (header->points > 0) add(header->data_begin, kLasPosition);  // which the origin depends on
    for (const std::uint32_t number : numbers) {
      add(header->data_begin + number * std::uint64_t{header->record_bytes}, header->record_bytes);
    }
    return true;
  }

 private:
  // Returns nothing if no header was recorded, or if it belongs to a LAZ file with this codec's name.
  static std::optional<LasHeader> checked(const FieldHeader& field) {
    std::optional<LasHeader> header = read_recorded_las_header(field.header);
    if (!header || header->compressed) return std::nullopt;
    check_las_points(*header, field.length);
    return header;
  }
};

}  // namespace

const CloudCodec& las_codec() {
  static const LasCodec codec;
  return codec;
}

}  // namespace penstock
