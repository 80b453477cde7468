// Large pictures that several threads decode and resample.
#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/format.hpp>
#include <transforms/image/jpt/jpt.hpp>
#include <transforms/image/kernels/resample.hpp>
#include <transforms/image/kernels/resample_axes.hpp>
#include <transforms/program/program.hpp>

#include "support/filled.hpp"
#include "support/jpeg_files.hpp"
#include "support/parallels.hpp"

namespace penstock::test::shared_pictures_test {
namespace {

const FieldSchema kSchema{.name = "jpg", .codec = "jpt"};

Bytes field_of(unsigned width, unsigned height, const Made& made) {
  jpt::Encoder encoder;
  const Bytes file = make_jpeg(width, height, made);
  const auto field = encoder.encode(file);
  CAPTURE(encoder.kept_because());
  REQUIRE_FALSE(field.empty());
  return {field.begin(), field.end()};
}

/// The pixels, or the error.
struct Outcome {
  Bytes pixels;
  std::string failure;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome decoded(const Bytes& bytes, Parallel* parallel, unsigned shrink = 1, std::optional<Region> region = {}) {
  const auto decoder = jpt_codec().decoder(kSchema);
  decoder->share(parallel);
  const FieldBytes field{&kSchema, bytes};
  Outcome outcome;
  try {
    Shape shape = decoder->peek(field).shape;
    if (shrink != 1) {
      const Size size = decoder->shrink(shrink).value();
      shape = {size.height, size.width, shape[2]};
    }
    if (region) shape = {region->height, region->width, shape[2]};
    outcome.pixels.resize(element_count(shape));
    decoder->decode(field, region ? &*region : nullptr, {outcome.pixels.data(), DType::u8, shape});
  } catch (const Error& error) {
    outcome = {{}, error.what()};
  }
  return outcome;
}

void check_alike(const Bytes& bytes, unsigned shrink, std::optional<Region> region) {
  CAPTURE(shrink);
  const Outcome alone = decoded(bytes, nullptr, shrink, region);
  ShuffledThreads threads;
  Backwards backwards;
  CHECK(decoded(bytes, &threads, shrink, region) == alone);
  CHECK(decoded(bytes, &backwards, shrink, region) == alone);
  CHECK(threads.calls >= 1);
  CHECK(threads.calls == backwards.calls);
}

/// Damages a byte in the middle of a tile.
void damage(Bytes& bytes, std::size_t tile) {
  jpt::Head head;
  jpt::parse_head(bytes, head);
  bytes[(head.tile_begin(tile) + head.tile_end(tile)) / 2] ^= std::byte{0x55};
}

struct Image {
  std::int64_t width, height, channels;
  std::vector<std::uint8_t> pixels;
  PixelSource source() const { return {pixels.data(), width * channels, channels, {0, 0, width, height}}; }
};

Image noise(std::int64_t width, std::int64_t height, std::int64_t channels) {
  Image image{width, height, channels, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * channels))};
  std::mt19937 random(7);
  for (std::size_t i = 0; i + 4 <= image.pixels.size(); i += 4) {
    const auto four = static_cast<std::uint32_t>(random());
    std::memcpy(image.pixels.data() + i, &four, 4);
  }
  return image;
}

Bytes resampled(const Image& image, const Geometry& geometry, Interpolation filter, DType dtype, bool channels_last,
                Parallel* parallel) {
  Bytes out(static_cast<std::size_t>(geometry.window.width * geometry.window.height * image.channels) * size_of(dtype));
  Resampler resampler;
  resampler.share(parallel);
  const PixelSink sink{.data = out.data(),
                       .dtype = dtype,
                       .channels_last = channels_last,
                       .scale = {.1F, .2F, .3F, .4F},
                       .bias = {1, 2, 3}};
  resampler.run(image.source(), geometry, filter, sink);
  return out;
}

/// Returns how often threads were asked to help.
std::uint32_t check_resampled(const Image& image, const Geometry& geometry, Interpolation filter,
                              DType dtype = DType::u8, bool channels_last = true) {
  const Bytes alone = resampled(image, geometry, filter, dtype, channels_last, nullptr);
  ShuffledThreads threads;
  Backwards backwards;
  CHECK(resampled(image, geometry, filter, dtype, channels_last, &threads) == alone);
  CHECK(resampled(image, geometry, filter, dtype, channels_last, &backwards) == alone);
  CHECK(threads.calls == backwards.calls);
  return threads.calls;
}

}  // namespace

TEST_CASE("tiles are decoded by several threads to the same pixels, whole, in part and shrunk") {
  const Made gray{.components = 1, .horizontal = 1, .vertical = 1, .stored = JCS_GRAYSCALE, .given = JCS_GRAYSCALE};
  for (const Made& made : {Made{}, Made{.horizontal = 1, .vertical = 1}, Made{.horizontal = 2, .vertical = 1},
                           Made{.horizontal = 1, .vertical = 2}, gray}) {
    CAPTURE(made.horizontal);
    CAPTURE(made.vertical);
    const Bytes bytes = field_of(2'611, 1'917, made);
    check_alike(bytes, 1, {});
    check_alike(bytes, 1, Region{3, 5, 2'601, 1'905});
    for (const unsigned shrink : {2U, 4U, 8U}) check_alike(bytes, shrink, {});
    check_alike(bytes, 2, Region{7, 9, 1'290, 940});
  }
}

TEST_CASE("threads are asked to help with large regions alone") {
  const Bytes bytes = field_of(2'611, 1'917, {});
  ShuffledThreads threads;
  decoded(bytes, &threads, 1, Region{100, 100, 1'500, 1'500});
  decoded(bytes, &threads, 4, Region{100, 100, 300, 300});
  CHECK(threads.calls == 0);
}

TEST_CASE("damaged tiles give the error that one thread gives: that of the first") {
  Bytes bytes = field_of(2'611, 1'917, {});
  const Outcome whole = decoded(bytes, nullptr);
  REQUIRE(whole.failure.empty());
  jpt::Head head;
  jpt::parse_head(bytes, head);
  const std::size_t across = head.frame.tiles_across();
  for (const std::size_t tile : {7 * across + 3, 4 * across + 2, 12 * across}) {
    damage(bytes, tile);
    const Outcome alone = decoded(bytes, nullptr);
    CHECK(alone.failure.starts_with("corrupt"));
    for (unsigned seed = 0; seed < 5; ++seed) {
      ShuffledThreads threads(4, seed);
      REQUIRE(decoded(bytes, &threads) == alone);
      REQUIRE(threads.calls == 1);  // no pixels are made of broken tiles
    }
    Backwards backwards;
    CHECK(decoded(bytes, &backwards) == alone);
  }
}

TEST_CASE("rows are resampled by several threads to the same pixels") {
  const Image large = noise(4'100, 3'700, 3);
  const Geometry whole = Geometry::identity({large.width, large.height});
  for (const Interpolation filter : {Interpolation::bilinear, Interpolation::bicubic}) {
    CHECK(check_resampled(large, whole.resized({300, 301}, filter), filter) >= 1);
    CHECK(check_resampled(large, whole.resized({301, 300}, filter).flipped(), filter, DType::f32, false) >= 1);
  }
  const Geometry down_first = whole.resized({4'000, 520});
  REQUIRE(vertical_first(down_first));
  CHECK(check_resampled(large, down_first, Interpolation::bilinear) >= 1);
  CHECK(check_resampled(large, down_first.flipped_vertically(), Interpolation::bilinear, DType::f16) >= 1);
  // Larger than it was: the vertical pass is what takes long.
  const Image small = noise(300, 40, 3);
  const Geometry up = Geometry::identity({300, 40}).resized({5'000, 3'000});
  CHECK(check_resampled(small, up, Interpolation::bilinear) >= 1);
  // A narrow one, whose rows are padded.
  const Image narrow = noise(5, 200'000, 1);
  const Geometry squeezed = Geometry::identity({5, 200'000}).resized({5, 100});
  check_resampled(narrow, squeezed, Interpolation::bilinear);
}

TEST_CASE("pixels that are only moved are moved by several threads to the same places") {
  const Image large = noise(4'100, 3'700, 3);
  const Geometry whole = Geometry::identity({large.width, large.height});
  for (const Geometry& geometry :
       {whole, whole.flipped(), whole.flipped_vertically().cropped({11, 13, 3'900, 3'600})}) {
    for (const bool channels_last : {false, true}) {
      CHECK(check_resampled(large, geometry, Interpolation::bilinear, DType::u8, channels_last) == 1);
      CHECK(check_resampled(large, geometry, Interpolation::bilinear, DType::f32, channels_last) == 1);
    }
  }
  const Geometry nearest = whole.resized({3'000, 3'500}, Interpolation::nearest);
  CHECK(check_resampled(large, nearest.flipped(), Interpolation::nearest, DType::u8, false) == 1);
}

TEST_CASE("threads are asked to help with what takes long alone") {
  const Image small = noise(1'000, 700, 3);
  const Geometry whole = Geometry::identity({small.width, small.height});
  CHECK(check_resampled(small, whole.resized({224, 224}), Interpolation::bilinear) == 0);
  CHECK(check_resampled(small, whole.flipped(), Interpolation::bilinear, DType::f32, false) == 0);
  CHECK(check_resampled(small, whole.resized({500, 500}), Interpolation::nearest) == 0);
}

TEST_CASE("a worker's filler brings threads to the decoder and to the passes") {
  Fields fields;
  fields.add(kSchema, field_of(4'400, 3'100, {.quality = 30}));
  const std::vector<FieldChain> chains{
      {"jpg", parse_chain("image.resize(2900, 4000) | image.normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))")}};
  const Program program(chains, fields.catalog());
  const auto alone = fill(program, fields);
  ShuffledThreads threads;
  SlotFiller filler(program, &threads);
  for (int round = 0; round < 3; ++round) {
    threads.calls = 0;
    CHECK(fill(program, filler, fields, {}) == alone);
    CHECK(threads.calls == 4);  // tiles, rows of pixels, both passes of the resampler
  }
}

}  // namespace penstock::test::shared_pictures_test
