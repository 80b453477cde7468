#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/recoding.hpp>
#include <transforms/recode/pixel_recoder.hpp>

namespace penstock::test::pixel_recoder_test {

TEST_CASE("what is to be decoded reads as it was written") {
  for (const char* text : {"", "same", "same:9x13", "224x224", "192x320", "jpg=224x224", "jpg,png=same:32x32"})
    CHECK(decode_text(pixel_recoding(text)) == text);
  CHECK(pixel_recoding("224") == pixel_recoding("224x224"));
  CHECK(pixel_recoding("").keeps_all());
  const PixelRecoding named = pixel_recoding("jpg,seg.png=10x20");
  CHECK(named.takes("seg.png"));
  CHECK_FALSE(named.takes("png"));
  CHECK(named.fits);
  CHECK(named.height == 10);
  CHECK(named.width == 20);
  for (const char* text : {"0", "-3", "x", "8x", "x8", "8x8x8", "=8", ",jpg=8", "jpg,=8", "jpg=", "same3",
                           "same:", "16385", "99999999999999999999", "12px"})
    CHECK_THROWS_AS(pixel_recoding(text), Error);
}

TEST_CASE("a gray array of any size is cut to the pixels asked for, in three channels") {
  const FieldSchema schema{.name = "x", .codec = "raw", .dtype = DType::u8, .shape = {2, 6}, .fixed = true};
  const std::vector<std::byte> stored(12, std::byte{7});
  for (const char* size : {"x=1x1", "x=2x2", "x=5x3", "x=3x40", "x=2x6"}) {
    PixelRecoder recoder(pixel_recoding(size));
    const PixelRecoding recoding = pixel_recoding(size);
    const auto made = recoder.recode(schema, stored);
    CHECK(std::vector<std::byte>(made.begin(), made.end()) ==
          std::vector<std::byte>(static_cast<std::size_t>(recoding.height * recoding.width * 3), std::byte{7}));
  }
}

TEST_CASE("images of another size, and what is no image, are named with their shape") {
  const FieldSchema schema{.name = "x", .codec = "raw", .dtype = DType::u8, .shape = {2, 6}, .fixed = true};
  const std::vector<std::byte> stored(12);
  PixelRecoder same(pixel_recoding("x=same:6x2"));
  CHECK_THROWS_WITH_AS(same.recode(schema, stored), doctest::Contains("6 x 2 pixels, not 2 x 6"), Error);
  const FieldSchema floats{.name = "x", .codec = "raw", .dtype = DType::f32, .shape = {3}, .fixed = true};
  CHECK_THROWS_WITH_AS(same.recode(floats, stored), doctest::Contains("float32"), Error);
  const FieldSchema jpeg{.name = "x", .codec = "jpeg"};
  CHECK_THROWS_AS(same.recode(jpeg, stored), Error);
}

}  // namespace penstock::test::pixel_recoder_test
