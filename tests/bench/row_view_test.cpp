#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <bench/measure/row_view.hpp>

namespace penstock::test::row_view_test {
namespace {

template <typename Number>
TensorView view_of(std::vector<Number>& values, DType dtype, Shape shape) {
  return {reinterpret_cast<std::byte*>(values.data()), dtype, std::move(shape)};
}

}  // namespace

TEST_CASE("a picture has the stored levels back, whatever layout and numbers the chain gave them") {
  // Two pixels beside each other: (10, 20, 30) and (200, 150, 255).
  const std::vector<std::uint8_t> levels{10, 20, 30, 200, 150, 255};
  std::vector<std::uint8_t> interleaved = levels;
  auto picture = picture_of(view_of(interleaved, DType::u8, {1, 2, 3}), image::channels_last());
  REQUIRE(picture.has_value());
  CHECK(picture->width == 2);
  CHECK(picture->height == 1);
  CHECK(picture->pixels == levels);

  const std::vector<float> mean{0.5F, 0.4F, 0.3F}, deviation{0.2F, 0.25F, 0.5F};
  std::vector<float> planes(6);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t x = 0; x < 2; ++x)
      planes[2 * c + x] = (static_cast<float>(levels[3 * x + c]) / 255.0F - mean[c]) / deviation[c];
  picture = picture_of(view_of(planes, DType::f32, {3, 1, 2}), image::normalize(mean, deviation));
  REQUIRE(picture.has_value());
  CHECK(picture->pixels == levels);

  std::vector<std::uint8_t> gray{7, 9};
  picture = picture_of(view_of(gray, DType::u8, {1, 1, 2}), {});
  REQUIRE(picture.has_value());
  CHECK(picture->pixels == std::vector<std::uint8_t>{7, 7, 7, 9, 9, 9});
}

TEST_CASE("what is no number is magenta, what is out of range is clipped, what is no image has no picture") {
  std::vector<float> values{std::nanf(""), 300, 1, -5, 2, 3};  // planes of two pixels
  const auto picture = picture_of(view_of(values, DType::f32, {3, 1, 2}), {});
  REQUIRE(picture.has_value());
  CHECK(picture->pixels == std::vector<std::uint8_t>{255, 0, 255, 255, 0, 3});
  CHECK_FALSE(picture_of(view_of(values, DType::f32, {6}), {}).has_value());
  CHECK_FALSE(picture_of(view_of(values, DType::f32, {2, 1, 3}), {}).has_value());
  CHECK_FALSE(picture_of(view_of(values, DType::f32, {3, 0, 2}), {}).has_value());
}

TEST_CASE("a range counts what is no number apart") {
  std::vector<float> values{1, -3, std::nanf(""), std::numeric_limits<float>::infinity(), 5};
  const ValueRange range = range_of(view_of(values, DType::f32, {5}));
  CHECK(range.low == -3);
  CHECK(range.high == 5);
  CHECK(range.mean == doctest::Approx(1));
  CHECK(range.count == 5);
  CHECK(range.nans == 1);
  CHECK(range.infinities == 1);
  CHECK(range_of(view_of(values, DType::f32, {0, 5})).count == 0);
}

TEST_CASE("a terminal shows two pixels in a character, and never more columns than asked for") {
  const Picture picture{.width = 4, .height = 2, .pixels = std::vector<std::uint8_t>(24, 9)};
  CHECK(terminal_text(picture, 1) == "\x1b[38;2;9;9;9m\x1b[48;2;9;9;9m\u2580\x1b[0m\n");
  const std::string wide = terminal_text(picture, 100);
  std::size_t blocks = 0;
  for (std::size_t at = wide.find("\u2580"); at != std::string::npos; at = wide.find("\u2580", at + 1)) ++blocks;
  CHECK(blocks == 4);
}

}  // namespace penstock::test::row_view_test
