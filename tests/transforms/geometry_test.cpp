#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/geometry.hpp>

namespace penstock::test::geometry_test {

TEST_CASE("the identity copies all pixels and needs all of them") {
  const Geometry g = Geometry::identity({500, 375});
  CHECK_FALSE(g.resamples());
  CHECK(g.output() == Size{500, 375});
  CHECK(g.needed(1.0) == Region{0, 0, 500, 375});
}

TEST_CASE("crop then resize: the box is the crop, and no pixel outside the crop contributes") {
  const Geometry g = Geometry::identity({500, 375}).cropped({100, 50, 300, 200}).resized({224, 224});
  CHECK(g.resamples());
  CHECK(g.output() == Size{224, 224});
  CHECK(g.visible == Region{100, 50, 300, 200});
  CHECK(g.box_x == 100.0);
  CHECK(g.box_width == 300.0);
  CHECK(g.needed(1.0) == Region{100, 50, 300, 200});
}

TEST_CASE("resize then centre crop: the output is a window of the grid, and pixels beyond its edge still contribute") {
  const Geometry g = Geometry::identity({512, 256}).resized({448, 224}).cropped({112, 0, 224, 224});
  CHECK(g.grid == Size{448, 224});
  CHECK(g.window == Region{112, 0, 224, 224});
  CHECK(g.visible == Region{0, 0, 512, 256});
  // Scale 8/7: the first centre is (112 + 0.5) * 8/7 = 128.571..., its taps begin at floor(128.571 - 8/7 + 0.5) = 127;
  // the last centre is 335.5 * 8/7 = 383.428..., its taps end before floor(383.428 + 8/7 + 0.5) = 385.
  CHECK(g.needed(1.0) == Region{127, 0, 258, 256});
}

TEST_CASE("a crop of a copy is a copy of the crop, wherever it was flipped") {
  const Geometry crop = Geometry::identity({10, 4}).cropped({1, 1, 3, 2});
  CHECK_FALSE(crop.resamples());
  CHECK(crop.needed(1.0) == Region{1, 1, 3, 2});
  const Geometry mirrored = Geometry::identity({10, 4}).flipped().cropped({1, 1, 3, 2});
  CHECK(mirrored.needed(1.0) == Region{6, 1, 3, 2});
  CHECK(mirrored.flip);
  CHECK_FALSE(mirrored.flipped().flip);
}

TEST_CASE("a resize to the size that an image has changes nothing") {
  const Geometry g = Geometry::identity({10, 4}).cropped({1, 1, 3, 2});
  CHECK_FALSE(g.resized({3, 2}).resamples());
}

TEST_CASE("a resize of a window of a grid covers the window's source area") {
  const Geometry g = Geometry::identity({400, 200}).resized({200, 100}).cropped({50, 25, 100, 50}).resized({50, 50});
  CHECK(g.box_x == 100.0);
  CHECK(g.box_y == 50.0);
  CHECK(g.box_width == 200.0);
  CHECK(g.box_height == 100.0);
  CHECK(g.visible == Region{100, 50, 200, 100});
  CHECK(g.output() == Size{50, 50});
}

TEST_CASE("points move as the pixels do") {
  const Geometry g = Geometry::identity({500, 375}).cropped({100, 50, 300, 200}).resized({150, 100}).flipped();
  double x = 100, y = 50;  // the crop's top left corner, which the flip moves to the right
  g.map_point(x, y);
  CHECK(x == 150.0);
  CHECK(y == 0.0);
  x = 250, y = 150;  // its middle
  g.map_point(x, y);
  CHECK(x == 75.0);
  CHECK(y == 50.0);
}

TEST_CASE("upside down, crops are taken from the other end and points fall to the other side") {
  const Geometry g = Geometry::identity({10, 8}).flipped_vertically().cropped({1, 2, 4, 3});
  CHECK(g.needed(1.0) == Region{1, 3, 4, 3});
  CHECK_FALSE(g.copies());
  CHECK(g.flipped_vertically().copies());
  double x = 1, y = 3;
  g.map_point(x, y);
  CHECK(x == 0.0);
  CHECK(y == 3.0);
}

TEST_CASE("a resize keeps what it is to be done with, and wider filters need more pixels") {
  using penstock::Interpolation;
  const Geometry g = Geometry::identity({100, 100}).resized({50, 50}, Interpolation::bicubic).cropped({20, 20, 5, 5});
  CHECK(g.interpolation == Interpolation::bicubic);
  CHECK(g.needed(support(Interpolation::area)) == Region{40, 40, 10, 10});
  CHECK(g.needed(support(Interpolation::bilinear)) == Region{39, 39, 12, 12});
  CHECK(g.needed(support(Interpolation::bicubic)) == Region{37, 37, 16, 16});
}

TEST_CASE("a crop that leaves the image is a shape error") {
  const Geometry g = Geometry::identity({10, 10});
  CHECK_THROWS_AS(g.cropped({0, 0, 11, 10}), Error);
  CHECK_THROWS_AS(g.cropped({-1, 0, 5, 5}), Error);
  CHECK_THROWS_AS(g.cropped({0, 0, 0, 5}), Error);
  CHECK_THROWS_AS(g.cropped({INT64_MAX, 0, INT64_MAX, 5}), Error);
  CHECK_THROWS_AS(g.resized({0, 5}), Error);
}

}  // namespace penstock::test::geometry_test
