#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/mix.hpp>
#include <transforms/mix.hpp>

namespace penstock::test::mix_test {

TEST_CASE("Beta(alpha, alpha) has its mean and variance, from very small alphas to large ones") {
  for (const double alpha : {0.001, 0.1, 0.2, 1.0, 1.5, 4.0, 100.0}) {
    CAPTURE(alpha);
    Random random(1, 2, 3, 4);
    constexpr int kDraws = 20000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double drawn = draw_beta(alpha, random);
      REQUIRE((drawn >= 0 && drawn <= 1));
      sum += drawn - 0.5;
      squares += (drawn - 0.5) * (drawn - 0.5);
    }
    CHECK(std::abs(sum / kDraws) < 0.015);
    CHECK(squares / kDraws == doctest::Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.05));
  }
}

TEST_CASE("the box of a cutmix lies in the image, and lambda is the area that is left") {
  const std::vector<Mix> mixes{cutmix(1, 10)};
  Random random(5, 6, 7, 8);
  double shares = 0;
  for (int i = 0; i < 2000; ++i) {
    const MixDraw draw = draw_mix(mixes, {40, 30}, random);
    const Region& box = draw.box;
    REQUIRE((box.x >= 0 && box.y >= 0 && box.width >= 0 && box.height >= 0));
    REQUIRE((box.x + box.width <= 40 && box.y + box.height <= 30));
    REQUIRE(draw.lambda == 1 - static_cast<double>(box.width * box.height) / 1200.0);
    shares += draw.lambda;
  }
  CHECK(shares / 2000 > 0.5);  // boxes are clipped
  CHECK(shares / 2000 < 0.75);
}

TEST_CASE("of several mixes each is drawn") {
  const std::vector<Mix> mixes{cutmix(1, 10), mixup(0.2, 10)};
  Random random(5, 6, 7, 8);
  int cut = 0;
  for (int i = 0; i < 1000; ++i) cut += draw_mix(mixes, {40, 30}, random).kind == Mix::Kind::cutmix;
  CHECK(cut > 420);
  CHECK(cut < 580);
}

TEST_CASE("rows are mixed in float32 and rounded to their dtype") {
  std::vector<float> row{1, -2, 3}, other{5, 6, -7};
  mix_rows(reinterpret_cast<std::byte*>(row.data()), reinterpret_cast<const std::byte*>(other.data()), DType::f32, 3,
           0.75);
  CHECK(row == std::vector<float>{2, 0, 0.5});
  std::vector<std::uint16_t> halves{0x3C00, 0x4000}, more{0x4200, 0x0000};  // 1, 2 and 3, 0
  mix_rows(reinterpret_cast<std::byte*>(halves.data()), reinterpret_cast<const std::byte*>(more.data()), DType::f16, 2,
           0.5);
  CHECK(halves == std::vector<std::uint16_t>{0x4000, 0x3C00});
}

TEST_CASE("a mix reads back as it was written, and what makes no sense is refused") {
  for (const Mix& mix : {mixup(0.2, 1000), cutmix(1, 2), mixup(1e-3, 7)}) CHECK(parse_mix(to_string(mix)) == mix);
  CHECK(to_string(mixup(0.2, 1000)) == "mixup(0.2, num_classes=1000)");
  for (const char* text : {"", "mixup", "mixup()", "mixup(0.2)", "mixup(0, num_classes=3)",
                           "mixup(1e-310, num_classes=3)", "mixup(nan, num_classes=3)", "cutmix(1, num_classes=0)",
                           "cutmix(1, num_classes=x)", "cutmix(1, num_classes=3) ", "blend(1, classes=3)"})
    CHECK_THROWS_AS(parse_mix(text), Error);
}

}  // namespace penstock::test::mix_test
