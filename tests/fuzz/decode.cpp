// Fuzzes the codecs of values.
#include <algorithm>
#include <memory>
#include <vector>

#include <penstock/codec.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

constexpr std::uint64_t kMostDecoded = std::uint64_t{4} << 20;  // bytes; larger images are more of the same

// Memory of exactly that size, so that a sanitizer sees a write behind its end.
void decode(Decoder& decoder, const FieldBytes& field, const Region* region, DType dtype, const Shape& shape) {
  const std::uint64_t bytes = element_count(shape) * size_of(dtype);
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  decoder.decode(field, region, {.data = memory.get(), .dtype = dtype, .shape = shape});
}

// The bytes that `rows` need, decoded by themselves.
void decode_rows(const Codec& codec, const FieldSchema& schema, Input input, ByteRange rows) {
  const std::vector<std::byte> header = codec.header(input);
  const FieldHeader known{.schema = &schema, .header = header, .length = input.size()};
  codec.layout(known);
  std::vector<ByteRange> ranges;
  if (!codec.select(known, rows, ranges)) return;
  std::vector<std::byte> selected;
  for (const ByteRange& range : ranges) {
    require(range.begin <= range.end, "a byte range that ends before it begins");
    const std::uint64_t end = std::min<std::uint64_t>(range.end, input.size());
    if (range.begin < end) {
      const Input part = input.subspan(range.begin, end - range.begin);
      selected.insert(selected.end(), part.begin(), part.end());
    }
  }
  const FieldBytes field{.schema = &schema, .bytes = selected, .ranges = ranges};
  const std::unique_ptr<Decoder> decoder = codec.decoder(schema);
  const Layout layout = decoder->peek(field);
  if (element_count(layout.shape) <= kMostDecoded) decode(*decoder, field, nullptr, layout.dtype, layout.shape);
}

void decode_region(Decoder& decoder, const FieldBytes& field, const Layout& layout) {
  const std::int64_t height = layout.shape[0], width = layout.shape[1];
  const Region region{.x = width / 3, .y = height / 2, .width = (width + 1) / 2, .height = (height + 2) / 3};
  decoder.peek(field);
  decode(decoder, field, &region, layout.dtype, {region.height, region.width, layout.shape[2]});
}

}  // namespace

void decode_value(std::string_view codec_name, Input input) {
  const Codec& codec = *codec_named(codec_name);
  const FieldSchema schema{.name = "value", .codec = std::string(codec_name)};
  codec.recognises(input);
  for (const Pixels pixels : {Pixels::rgb, Pixels::stored}) {
    const FieldBytes field{.schema = &schema, .bytes = input};
    const std::unique_ptr<Decoder> decoder = codec.decoder(schema, {.pixels = pixels});
    const Layout layout = decoder->peek(field);
    if (element_count(layout.shape) > kMostDecoded) return;
    if (layout.image) decode_region(*decoder, field, layout);
    decoder->peek(field);
    decode(*decoder, field, nullptr, layout.dtype, layout.shape);
    if (!layout.image) break;
  }
  decode_rows(codec, schema, input, {.begin = 0, .end = 1});
  decode_rows(codec, schema, input, {.begin = 1, .end = 3});
}

}  // namespace penstock::fuzz
