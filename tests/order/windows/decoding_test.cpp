// Tests how often the values of a batch of windows are decoded. tests/python/test_windows.py compares what is
// delivered.
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <penstock/loader.hpp>

#include "support/own_steps.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::window_decoding_test {
namespace {

constexpr unsigned kFrames = 24;

class CountingCodec final : public Codec {
  struct Counting final : Decoder {
    explicit Counting(const CountingCodec& codec) : of(codec) {}
    Layout peek(const FieldBytes& field) override { return inner.peek(field); }
    void decode(const FieldBytes& field, const Region* region, TensorView out) override {
      if (std::this_thread::get_id() == of.thread) ++of.decoded;
      inner.decode(field, region, out);
    }
    PgmDecoder inner;
    const CountingCodec& of;
  };

 public:
  std::string_view name() const override { return "pgm"; }
  bool recognises(std::span<const std::byte>) const override { return false; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    return std::make_unique<Counting>(*this);
  }
  const std::thread::id thread = std::this_thread::get_id();
  mutable unsigned decoded = 0;  // by that thread alone
};

struct Film {
  Film() {
    for (unsigned i = 0; i < kFrames; ++i) {
      const std::vector<std::uint8_t> gray(6 * 8, static_cast<std::uint8_t>(i));
      write_file(folder / ("frame" + std::to_string(100 + i) + ".pgm"), pgm(8, 6, gray));
    }
  }
  TemporaryFolder folder;
};

// Loader::at() fills in its caller's thread, the others are ahead.
unsigned decoded_for_a_batch(const Film& film, const Chain& steps, std::uint32_t rows) {
  const auto codec = std::make_shared<CountingCodec>();
  const Chain chain = window("pgm", {.offsets = {-2, -1, 0, 1}}) | decode(codec) | steps;
  Loader loader(open(film.folder.path()), {.batch_size = rows, .workers = 2, .transforms = {{"clip", chain}}});
  codec->decoded = 0;
  const Batch batch = loader.at(0, 0);
  CHECK(batch["clip"].values.shape == Shape{rows, 4, 1, 4, 4});
  return codec->decoded;
}

}  // namespace

TEST_CASE("a frame is decoded once for a batch where nothing is drawn, for each of its places where something is") {
  const Film film;
  CHECK(decoded_for_a_batch(film, image::resize(4, 4), kFrames) == kFrames);
  CHECK(decoded_for_a_batch(film, image::resize(4, 4) | image::normalize({0.5F}, {0.25F}), kFrames) == kFrames);
  CHECK(decoded_for_a_batch(film, image::center_crop(2) | image::pad(Padding::all(1)), kFrames) == kFrames);
  CHECK(decoded_for_a_batch(film, image::resize(4, 4), 5) == 6);  // the first row's step behind it, and none before it
  CHECK(decoded_for_a_batch(film, image::random_crop(4), kFrames) == 4 * kFrames);
}

}  // namespace penstock::test::window_decoding_test
