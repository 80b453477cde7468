// Fuzzes the codecs of point clouds.
#include <algorithm>
#include <memory>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <transforms/clouds/codecs/cloud.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

constexpr std::uint64_t kMostPoints = 65536;  // more points are more of the same
constexpr std::size_t kMostAttributes = 16;

// Into memory of exactly that size, so that a sanitizer sees a write behind its end.
void read_points(CloudDecoder& decoder, const FieldBytes& field, const PointChoice& choice) {
  const CloudHeader header = decoder.open(field);
  const std::uint64_t count = choice.count(header.points);
  const auto places = std::make_unique_for_overwrite<float[]>(count * 3);
  decoder.coordinates(field, choice, places.get());
  for (std::size_t i = 0; i < std::min(header.attributes.size(), kMostAttributes); ++i) {
    const auto values = std::make_unique_for_overwrite<std::byte[]>(count * size_of(header.attributes[i].dtype));
    decoder.attribute(field, choice, i, values.get());
  }
}

std::vector<std::uint32_t> some_of(std::uint64_t points) {
  std::vector<std::uint32_t> numbers;
  for (const std::uint64_t number : {std::uint64_t{0}, points / 3, points / 2, points / 2 + 1, points - 1}) {
    if (number < points && (numbers.empty() || numbers.back() < number)) {
      numbers.push_back(static_cast<std::uint32_t>(number));
    }
  }
  return numbers;
}

// Only the bytes that the chosen points need.
void read_selected(const CloudCodec& codec, const FieldSchema& schema, const DecodeOptions& options, Input input) {
  const std::vector<std::byte> header = codec.header(input);
  const FieldHeader known{.schema = &schema, .header = header, .length = input.size()};
  const std::optional<CloudHeader> cloud = codec.cloud(known);
  if (!cloud) return;
  const std::vector<std::uint32_t> numbers = some_of(cloud->points);
  std::vector<ByteRange> ranges;
  if (!codec.select_points(known, numbers, ranges)) return;
  std::vector<std::byte> selected;
  for (const ByteRange& range : ranges) {
    require(range.begin <= range.end, "a byte range that ends before it begins");
    if (range.end > input.size()) return;  // a reader finds the field too short
    selected.insert(selected.end(), input.begin() + static_cast<std::ptrdiff_t>(range.begin),
                    input.begin() + static_cast<std::ptrdiff_t>(range.end));
  }
  const FieldBytes field{.schema = &schema, .bytes = selected, .ranges = ranges};
  read_points(*codec.cloud_decoder(options), field, {.all = false, .numbers = numbers});
}

}  // namespace

void decode_cloud(std::string_view codec_name, Input input) {
  const auto& codec = dynamic_cast<const CloudCodec&>(*codec_named(codec_name));
  const FieldSchema schema{.name = "value", .codec = std::string(codec_name)};
  const FieldBytes field{.schema = &schema, .bytes = input};
  codec.recognises(input);
  const CloudHeader header = codec.cloud_decoder({})->open(field);
  DecodeOptions options;
  for (const PointAttribute& attribute : header.attributes) {
    if (options.attributes.size() < kMostAttributes) options.attributes.push_back(attribute.name);
  }
  if (header.points <= kMostPoints) {
    try {
      read_points(*codec.cloud_decoder(options), field, {});
    } catch (const Error&) {
    }
    const std::vector<std::uint32_t> numbers = some_of(header.points);
    read_points(*codec.cloud_decoder(options), field, {.all = false, .numbers = numbers});
  }
  read_selected(codec, schema, options, input);
}

}  // namespace penstock::fuzz
