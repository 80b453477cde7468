#include <algorithm>
#include <vector>

#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/extents.hpp>
#include <transforms/image/jpt/jpt.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

constexpr std::int64_t kMostShrunk = std::int64_t{1} << 18;  ///< pixels

/// The middle of the image, of the tiles that are named for it alone.
void decode_crop(Input input, Decoder& decoder, const FieldSchema& schema, const Layout& layout) {
  const std::int64_t height = layout.shape[0], width = layout.shape[1];
  const Region middle{width / 3, height / 3, std::min<std::int64_t>((width + 2) / 3, 200),
                      std::min<std::int64_t>((height + 2) / 3, 200)};
  std::vector<ByteRange> ranges;
  jpt::Extents(jpt::kept_extents(input)).select(middle, 16, ranges);
  std::vector<std::byte> read;
  for (const ByteRange& range : ranges) {
    if (range.end > input.size()) return;
    read.insert(read.end(), input.begin() + static_cast<std::ptrdiff_t>(range.begin),
                input.begin() + static_cast<std::ptrdiff_t>(range.end));
  }
  const FieldBytes part{.schema = &schema, .bytes = read, .ranges = ranges};
  decoder.peek(part);
  const Shape shape{middle.height, middle.width, 3};
  std::vector<std::byte> pixels(element_count(shape));
  decoder.decode(part, &middle, {pixels.data(), DType::u8, shape});
}

void decode_shrunk(Input input, Decoder& decoder, const FieldSchema& schema, unsigned denominator) {
  const FieldBytes field{.schema = &schema, .bytes = input};
  const std::int64_t channels = decoder.peek(field).shape[2];
  const auto size = decoder.shrink(denominator);
  if (!size || size->width * size->height > kMostShrunk) return;
  const Shape shape{size->height, size->width, channels};
  std::vector<std::byte> pixels(element_count(shape));
  decoder.decode(field, nullptr, {pixels.data(), DType::u8, shape});
}

template <class Work>
void attempt(Work work) {
  try {
    work();
  } catch (const Error&) {
  }
}

}  // namespace

void jpt_codec(Input input) {
  constexpr std::uint64_t kMostRestored = std::uint64_t{1} << 20;
  const FieldSchema schema{.name = "jpg", .codec = "jpt"};
  attempt([&] {  // as if it came from an index
    std::vector<ByteRange> ranges;
    jpt::Extents(input).select({0, 0, 1, 1}, 100, ranges);
  });
  const auto decoder = penstock::jpt_codec().decoder(schema);
  const Layout layout = decoder->peek({.schema = &schema, .bytes = input});
  attempt([&] { decode_value("jpt", input); });
  attempt([&] { decode_crop(input, *decoder, schema, layout); });
  for (const unsigned denominator : {2U, 4U, 8U}) attempt([&] { decode_shrunk(input, *decoder, schema, denominator); });
  if (element_count(layout.shape) > kMostRestored) return;
  static jpt::Restorer restorer;
  restorer.restore(input);
}

}  // namespace penstock::fuzz
