#include <algorithm>
#include <cstring>
#include <limits>

#include <base/numbers/load.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>

namespace penstock {
namespace {

constexpr std::string_view kMagic = "PSPOINTS";
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kFixedBytes = 56;
constexpr std::size_t kAlignment = 16;
constexpr std::size_t kPlaceBytes = 3 * sizeof(float);
constexpr std::uint64_t kPrefix = 4096;  ///< more than a header with dozens of attributes

template <typename Number>
void store(std::vector<std::byte>& bytes, std::size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof(number));
}

/// A header, and the offsets of attributes in a record.
struct Parsed {
  CloudHeader cloud;
  std::vector<std::size_t> places;
  std::size_t data_begin = 0, record_bytes = kPlaceBytes;
};

Parsed parse(std::span<const std::byte> bytes, std::uint64_t length) {
  if (bytes.size() < kFixedBytes) throw Error::corrupt("points: ends inside the header");
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    throw Error::corrupt("points: does not begin with PSPOINTS");
  if (load<std::uint16_t>(bytes, 8) != kVersion) {
    throw Error::unsupported("points: version " + std::to_string(load<std::uint16_t>(bytes, 8)));
  }
  Parsed parsed;
  const auto order = load<std::uint8_t>(bytes, 10);
  if (order > static_cast<std::uint8_t>(PointOrder::farthest)) throw Error::corrupt("points: unknown order");
  parsed.cloud.order = static_cast<PointOrder>(order);
  parsed.data_begin = load<std::uint32_t>(bytes, 12);
  parsed.cloud.points = load<std::uint64_t>(bytes, 16);
  std::memcpy(parsed.cloud.origin.data(), bytes.data() + 24, sizeof(parsed.cloud.origin));
  if (parsed.data_begin < kFixedBytes || parsed.data_begin > length)
    throw Error::corrupt("points: invalid offset of the records");
  const auto header = bytes.first(std::min(bytes.size(), parsed.data_begin));
  std::size_t at = kFixedBytes;
  for (unsigned left = load<std::uint8_t>(bytes, 11); left != 0; --left) {
    if (header.size() - at < 2) throw Error::corrupt("points: ends inside an attribute");
    const auto dtype = load<std::uint8_t>(header, at), name_bytes = load<std::uint8_t>(header, at + 1);
    at += 2;
    if (header.size() - at < name_bytes) throw Error::corrupt("points: ends inside an attribute");
    if (dtype > static_cast<std::uint8_t>(DType::boolean)) throw Error::corrupt("points: unknown dtype");
    const std::string name(reinterpret_cast<const char*>(header.data()) + at, name_bytes);
    parsed.cloud.attributes.push_back({name, static_cast<DType>(dtype)});
    parsed.places.push_back(parsed.record_bytes);
    parsed.record_bytes += size_of(static_cast<DType>(dtype));
    at += name_bytes;
  }
  if (load<std::uint32_t>(bytes, 48) != parsed.record_bytes)
    throw Error::corrupt("points: wrong number of bytes of a record");
  const std::uint64_t held = (length - parsed.data_begin) / parsed.record_bytes;
  if (parsed.cloud.points > held || parsed.cloud.points > std::numeric_limits<std::uint32_t>::max()) {
    throw Error::corrupt("points: " + std::to_string(parsed.cloud.points) + " points in the header, but bytes for " +
                         std::to_string(held));
  }
  return parsed;
}

class PackedCloudDecoder final : public CloudDecoder {
 public:
  const CloudHeader& open(const FieldBytes& field) override {
    // If only ranges were read, the value's length is unknown here, so the point count cannot be checked against it.
    parsed_ = parse(field.bytes, field.ranges.empty() ? field.bytes.size() : std::numeric_limits<std::uint64_t>::max());
    if (parsed_.data_begin > field.bytes.size()) throw Error::corrupt("points: ends inside the header");
    return parsed_.cloud;
  }

  void coordinates(const FieldBytes& field, const PointChoice& choice, float* out) override {
    const bool bare = parsed_.record_bytes == kPlaceBytes && (choice.all || !field.ranges.empty());
    if (bare) {
      const std::uint64_t bytes = choice.count(parsed_.cloud.points) * kPlaceBytes;
      std::memcpy(out, records(field, choice), bytes);
      return;
    }
    copy(field, choice, 0, kPlaceBytes, reinterpret_cast<std::byte*>(out));
  }

  void attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) override {
    copy(field, choice, parsed_.places.at(number), size_of(parsed_.cloud.attributes[number].dtype), out);
  }

 private:
  // Returns the first requested record, if the records are contiguous in memory. Checks that all of them are present.
  const std::byte* records(const FieldBytes& field, const PointChoice& choice) const {
    const std::uint64_t held = (field.bytes.size() - parsed_.data_begin) / parsed_.record_bytes;
    const std::uint64_t needed = !field.ranges.empty() || choice.all ? choice.count(parsed_.cloud.points)
                                 : choice.numbers.empty()            ? 0
                                                                     : std::uint64_t{choice.numbers.back()} + 1;
    if (needed > held) throw Error::corrupt("points: ends before point " + std::to_string(needed - 1));
    return field.bytes.data() + parsed_.data_begin;
  }

  void copy(const FieldBytes& field, const PointChoice& choice, std::size_t place, std::size_t bytes,
            std::byte* out) const {
    const std::byte* first = records(field, choice) + place;
    const std::uint64_t count = choice.count(parsed_.cloud.points);
    const bool next_to_each_other = choice.all || !field.ranges.empty();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = next_to_each_other ? i : choice.numbers[i];
      std::memcpy(out + i * bytes, first + at * parsed_.record_bytes, bytes);
    }
  }

  Parsed parsed_;
};

class PackedCloudCodec final : public CloudCodec {
 public:
  std::string_view name() const override { return "points"; }
  std::unique_ptr<CloudDecoder> cloud_decoder(const DecodeOptions&) const override {
    return std::make_unique<PackedCloudDecoder>();
  }

  std::optional<CloudHeader> cloud(const FieldHeader& field) const override {
    if (field.header.empty()) return std::nullopt;
    return parse(field.header, field.length).cloud;
  }

  bool select_points(const FieldHeader& field, std::span<const std::uint32_t> numbers,
                     std::vector<ByteRange>& ranges) const override {
    if (field.header.empty()) return false;
    const Parsed parsed = parse(field.header, field.length);
    ranges.push_back({0, parsed.data_begin});
    for (const std::uint32_t number : numbers) {
      const std::uint64_t begin = parsed.data_begin + std::uint64_t{number} * parsed.record_bytes;
      if (ranges.back().end == begin) {
        ranges.back().end = begin + parsed.record_bytes;
      } else {
        ranges.push_back({begin, begin + parsed.record_bytes});
      }
    }
    return true;
  }

  std::uint64_t prefix_bytes() const override { return kPrefix; }

  std::vector<std::byte> header(std::span<const std::byte> bytes) const override {
    if (!recognises(bytes) || bytes.size() < kFixedBytes) return {};
    const std::size_t data_begin = load<std::uint32_t>(bytes, 12);
    if (data_begin > bytes.size() || data_begin > kPrefix) return {};
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(data_begin)};
  }
};

void check(const CloudHeader& header, const CloudColumns& columns) {
  bool fits = columns.coordinates.size() == header.points * 3 &&
              columns.attributes.size() == header.attributes.size() && header.attributes.size() <= 255;
  for (std::size_t i = 0; fits && i < header.attributes.size(); ++i) {
    fits = columns.attributes[i].size() == header.points * size_of(header.attributes[i].dtype) &&
           header.attributes[i].name.size() <= 255;
  }
  if (!fits) throw Error::invalid_argument("points: the columns are not those of the header");
}

}  // namespace

const CloudCodec& packed_cloud_codec() {
  static const PackedCloudCodec codec;
  return codec;
}

void encode_cloud(const CloudHeader& header, const CloudColumns& columns, std::vector<std::byte>& out) {
  check(header, columns);
  std::size_t header_bytes = kFixedBytes, record_bytes = kPlaceBytes;
  for (const PointAttribute& attribute : header.attributes) {
    header_bytes += 2 + attribute.name.size();
    record_bytes += size_of(attribute.dtype);
  }
  header_bytes = (header_bytes + kAlignment - 1) / kAlignment * kAlignment;
  out.assign(header_bytes + header.points * record_bytes, std::byte{0});
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  store(out, 8, kVersion);
  store(out, 10, static_cast<std::uint8_t>(header.order));
  store(out, 11, static_cast<std::uint8_t>(header.attributes.size()));
  store(out, 12, static_cast<std::uint32_t>(header_bytes));
  store(out, 16, header.points);
  std::memcpy(out.data() + 24, header.origin.data(), sizeof(header.origin));
  store(out, 48, static_cast<std::uint32_t>(record_bytes));
  std::size_t at = kFixedBytes;
  for (const PointAttribute& attribute : header.attributes) {
    store(out, at, static_cast<std::uint8_t>(attribute.dtype));
    store(out, at + 1, static_cast<std::uint8_t>(attribute.name.size()));
    std::memcpy(out.data() + at + 2, attribute.name.data(), attribute.name.size());
    at += 2 + attribute.name.size();
  }
  std::byte* records = out.data() + header_bytes;
  const auto put = [&](std::size_t place, const std::byte* from, std::size_t bytes) {
    for (std::uint64_t i = 0; i < header.points; ++i)
      std::memcpy(records + i * record_bytes + place, from + i * bytes, bytes);
  };
  put(0, reinterpret_cast<const std::byte*>(columns.coordinates.data()), kPlaceBytes);
  std::size_t place = kPlaceBytes;
  for (std::size_t i = 0; i < header.attributes.size(); ++i) {
    const std::size_t bytes = size_of(header.attributes[i].dtype);
    put(place, columns.attributes[i].data(), bytes);
    place += bytes;
  }
}

}  // namespace penstock
