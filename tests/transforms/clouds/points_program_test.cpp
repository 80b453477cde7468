#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

#include "support/filled.hpp"

namespace penstock::test::points_program_test {
namespace {

using Numbers = std::vector<float>;

/// Points whose x is their number, so that a row tells which point it is; attribute "tag" is the number modulo 7, "n*"
/// the unit vector along x.
Bytes cloud(std::uint32_t points, PointOrder order = PointOrder::stored, std::array<double, 3> origin = {}) {
  Numbers coordinates;
  std::vector<std::uint8_t> tags;
  Numbers along, across(points, 0.0F);
  for (std::uint32_t i = 0; i < points; ++i) {
    coordinates.insert(coordinates.end(),
                       {static_cast<float>(i), static_cast<float>(i % 10), static_cast<float>(i % 3)});
    tags.push_back(static_cast<std::uint8_t>(i % 7));
    along.push_back(1.0F);
  }
  const CloudHeader header{
      .points = points,
      .origin = origin,
      .attributes = {{"tag", DType::u8}, {"nx", DType::f32}, {"ny", DType::f32}, {"nz", DType::f32}},
      .order = order};
  Bytes bytes;
  encode_cloud(header,
               {.coordinates = coordinates,
                .attributes = {std::as_bytes(std::span(tags)), std::as_bytes(std::span(along)),
                               std::as_bytes(std::span(across)), std::as_bytes(std::span(across))}},
               bytes);
  return bytes;
}

Fields one(Bytes value) {
  Fields fields;
  fields.add({.name = "cloud", .codec = "points"}, std::move(value));
  return fields;
}

std::size_t number_of(const Program& program, const std::string& name) {
  for (std::size_t i = 0; i < program.outputs().size(); ++i) {
    if (program.outputs()[i].name == name) return i;
  }
  FAIL("no output ", name);
  return 0;
}

template <typename T = float>
std::vector<T> row(const Program& program, const Fields& fields, const SampleContext& sample,
                   const std::string& name = "cloud") {
  return elements<T>(fill(program, fields, sample)[number_of(program, name)]);
}

Numbers row(const Fields& fields, const Chain& chain, const SampleContext& sample = {}) {
  return row(Program({{{"cloud", chain}}}, fields.catalog()), fields, sample);
}

Numbers column(const Numbers& rows, std::size_t columns, std::size_t number) {
  Numbers values;
  for (std::size_t i = number; i < rows.size(); i += columns) values.push_back(rows[i]);
  return values;
}

// What the loader does for outputs that read parts of a field: the header's recorded bytes, then the ranges alone.
struct Parts {
  Bytes bytes;
  std::vector<ByteRange> ranges;
};

Parts parts(const Program& program, std::uint32_t output, const Fields& fields, const SampleContext& sample) {
  const Bytes& value = fields.values[0];
  const Bytes header = codec_named("points")->header(value);
  Parts read;
  if (!program.select(output, {&fields.schemas[0], header, value.size()}, sample, read.ranges)) return {};
  for (const ByteRange& range : read.ranges) {
    read.bytes.insert(read.bytes.end(), value.begin() + static_cast<std::ptrdiff_t>(range.begin),
                      value.begin() + static_cast<std::ptrdiff_t>(range.end));
  }
  return read;
}

std::vector<Bytes> fill_from_parts(const Program& program, const Fields& fields, const SampleContext& sample) {
  SlotFiller filler(program);
  filler.begin(sample);
  std::vector<Bytes> rows(program.outputs().size());
  for (const std::uint32_t number : program.order()) {
    const Parts read = parts(program, number, fields, sample);
    REQUIRE_FALSE(read.ranges.empty());
    REQUIRE(read.bytes.size() < fields.values[0].size());
    rows[number].resize(program.outputs()[number].row_bytes());
    filler.fill(number, {&fields.schemas[0], read.bytes, read.ranges}, rows[number]);
  }
  return rows;
}

std::vector<FieldChain> labelled(const Chain& chain) {
  return {{"cloud", chain},
          {"tags", field("cloud") | follow("cloud") | points::attribute("tag")},
          {"mask", field("cloud") | follow("cloud") | points::valid_mask()},
          {"n", follow("cloud") | lengths()}};
}

}  // namespace

TEST_CASE("without steps a cloud is all of its points, with its origin beside it") {
  const Fields fields = one(cloud(5, PointOrder::stored, {1e6, 2e6, 3.5}));
  const Program program({}, fields.catalog());
  CHECK(program.outputs()[0].ragged);
  CHECK(program.outputs()[0].shape == Shape{3});
  CHECK(row(program, fields, {}) == Numbers{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 0, 4, 4, 1});
  CHECK(row<double>(program, fields, {}, "__origin__") == std::vector<double>{1e6, 2e6, 3.5});
}

TEST_CASE("a random sample has different points, another set for each epoch, sample and seed") {
  const Fields fields = one(cloud(1000));
  const Program program({{{"cloud", points::sample(100)}}}, fields.catalog());
  CHECK(program.outputs()[0].shape == Shape{100, 3});
  std::set<Numbers> seen;
  for (const SampleContext& sample :
       {SampleContext{}, SampleContext{.epoch = 1}, SampleContext{.sample = 1}, SampleContext{.seed = 1}}) {
    const Numbers x = column(row(program, fields, sample), 3, 0);
    CHECK(std::set<float>(x.begin(), x.end()).size() == 100);
    seen.insert(x);
  }
  CHECK(seen.size() == 4);
}

TEST_CASE("reading only the points that are drawn gives the same rows as reading the cloud") {
  for (const PointOrder order : {PointOrder::stored, PointOrder::random, PointOrder::farthest}) {
    const Fields fields = one(cloud(5000, order, {1, 2, 3}));
    for (const char* method : {"random", "blocks", "fps"}) {
      const bool by_coordinates = std::string(method) == "fps" && order != PointOrder::farthest;
      if (by_coordinates) continue;
      CAPTURE(method);
      const Program program(labelled(points::decode({"tag"}) | points::sample(64, method) | points::random_shuffle() |
                                     points::random_dropout() | points::center() | points::channels_first()),
                            fields.catalog());
      for (const Output& output : program.outputs()) CHECK(output.partial);
      for (std::uint64_t epoch = 0; epoch < 100; epoch += 9) {
        const SampleContext sample{.seed = 7, .epoch = epoch, .sample = 3};
        CHECK(fill_from_parts(program, fields, sample) == fill(program, fields, sample));
      }
    }
  }
}

TEST_CASE("windows of a progressive cloud are one or two ranges, and the epochs deliver every point equally often") {
  const Fields fields = one(cloud(1000, PointOrder::random));
  const Program program({{{"cloud", points::sample(100)}}}, fields.catalog());
  std::vector<int> times(1000, 0);
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    const SampleContext sample{.seed = 5, .epoch = epoch, .sample = 11};
    CHECK(parts(program, 0, fields, sample).ranges.size() <= 3);  // the header, and two where a window wraps
    for (const float x : column(row(program, fields, sample), 3, 0)) ++times[static_cast<std::size_t>(x)];
  }
  CHECK(times == std::vector<int>(1000, 2));
}

TEST_CASE("fps of a cloud in that order is its beginning") {
  const Fields fields = one(cloud(500, PointOrder::farthest));
  const Numbers x = column(row(fields, points::sample(50, "fps")), 3, 0);
  Numbers beginning(50);
  std::iota(beginning.begin(), beginning.end(), 0.0F);
  CHECK(x == beginning);
}

TEST_CASE("labels and attributes follow sampling, shuffling and dropout") {
  const Fields fields = one(cloud(3000));
  const Program program(
      labelled(points::decode({"tag"}) | points::sample(200) | points::random_shuffle() | points::random_dropout()),
      fields.catalog());
  CHECK(program.outputs()[1].dtype == DType::u8);
  const SampleContext sample{.epoch = 4};
  const Numbers rows = row(program, fields, sample);
  const auto tags = row<std::uint8_t>(program, fields, sample, "tags");
  REQUIRE(tags.size() == 200);
  for (std::size_t i = 0; i < 200; ++i) {
    CHECK(tags[i] == static_cast<unsigned>(rows[4 * i]) % 7);
    CHECK(static_cast<float>(tags[i]) == rows[4 * i + 3]);
  }
}

TEST_CASE("an array with a row for each point follows, too") {
  Fields fields = one(cloud(300));
  std::vector<std::int32_t> labels(600);
  std::iota(labels.begin(), labels.end(), 0);
  fields.add({.name = "npy", .codec = "npy"}, npy("<i4", {300, 2}, to_bytes(labels)));
  const Program program({{{"cloud", points::sample(20) | points::random_shuffle()}, {"npy", follow("cloud")}}},
                        fields.catalog());
  CHECK(program.outputs()[1].shape == Shape{20, 2});
  const Numbers rows = row(program, fields, {});
  const auto followed = row<std::int32_t>(program, fields, {}, "npy");
  for (std::size_t i = 0; i < 20; ++i) CHECK(followed[2 * i] == 2 * static_cast<std::int32_t>(rows[3 * i]));
}

TEST_CASE(
    "clouds with too few points are repeated, ragged or refused, as asked; pad() fills up and valid_mask() tells") {
  const Fields fields = one(cloud(10));
  const Numbers repeated = column(row(fields, points::sample(25)), 3, 0);
  CHECK(repeated.size() == 25);
  CHECK(std::set<float>(repeated.begin(), repeated.end()).size() == 10);
  CHECK(row(fields, points::sample(25, "random", {.if_fewer = "ragged"})).size() == 30);
  CHECK_THROWS_WITH(row(fields, points::sample(25, "random", {.if_fewer = "raise"})),
                    doctest::Contains("10 points, fewer"));
  const Program program(labelled(points::sample(25, "random", {.if_fewer = "ragged"}) | points::pad(25)),
                        fields.catalog());
  const Numbers padded = row(program, fields, {});
  CHECK(padded.size() == 75);
  CHECK(std::all_of(padded.begin() + 30, padded.end(), [](float value) { return value == 0; }));
  const auto mask = row<std::uint8_t>(program, fields, {}, "mask");
  CHECK(std::count(mask.begin(), mask.end(), 1) == 10);
  CHECK(std::all_of(mask.begin(), mask.begin() + 10, [](std::uint8_t value) { return value == 1; }));
  CHECK_THROWS_WITH(row(fields, points::pad(5)), doctest::Contains("more than points.pad(5)"));
}

TEST_CASE("center, unit_sphere, unit_box and scale do what they say, compared with sums in double") {
  const Fields fields = one(cloud(1001));
  const Numbers centred = row(fields, points::center());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Numbers values = column(centred, 3, axis);
    CHECK(std::abs(std::accumulate(values.begin(), values.end(), 0.0)) / 1001 < 1e-4);
  }
  double longest = 0;
  const Numbers sphere = row(fields, points::center() | points::unit_sphere());
  for (std::size_t i = 0; i < sphere.size(); i += 3) {
    longest = std::max(longest, std::hypot(double{sphere[i]}, double{sphere[i + 1]}, double{sphere[i + 2]}));
    CHECK(std::abs(sphere[i] - centred[i] / 500.02) < 1e-4);
  }
  CHECK(longest == doctest::Approx(1).epsilon(1e-6));
  const Numbers box = column(row(fields, points::unit_box()), 3, 0);
  CHECK(*std::min_element(box.begin(), box.end()) == doctest::Approx(-1));
  CHECK(*std::max_element(box.begin(), box.end()) == doctest::Approx(1));
  CHECK(column(row(fields, points::scale(0.5)), 3, 0)[3] == 1.5F);
}

TEST_CASE("voxel centroids are means of their cells; with more points wanted than there are cells, points fill up") {
  const Fields fields = one(cloud(100));
  const Numbers means = row(fields, points::voxel(10.0));  // x from 0 to 99, y and z below 10: ten cells
  REQUIRE(means.size() == 30);
  for (std::size_t i = 0; i < 10; ++i) CHECK(means[3 * i] == 10.0F * static_cast<float>(i) + 4.5F);
  const Numbers filled = row(fields, points::sample(40, "voxel", {.size = 10.0}));
  REQUIRE(filled.size() == 120);
  std::size_t centroids = 0, stored = 0;
  for (const float x : column(filled, 3, 0)) {
    if (x == std::floor(x)) ++stored;
    if (x != std::floor(x) && std::fmod(x, 10.0F) == 4.5F) ++centroids;
  }
  CHECK(centroids == 10);
  CHECK(stored == 30);
}

TEST_CASE("rotations keep lengths; about z they keep z; normals turn with the points") {
  const Fields fields = one(cloud(50));
  const Numbers still = row(fields, points::decode({"nx", "ny", "nz"}));
  for (const char* about : {"z", "free"}) {
    std::set<float> angles;
    for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
      const Numbers turned =
          row(fields, points::decode({"nx", "ny", "nz"}) | points::random_rotate(about), {.epoch = epoch});
      for (std::size_t i = 0; i < turned.size(); i += 6) {
        const auto length = [&](const Numbers& rows) {
          return std::hypot(double{rows[i]}, double{rows[i + 1]}, double{rows[i + 2]});
        };
        CHECK(length(turned) == doctest::Approx(length(still)).epsilon(1e-5));
        if (std::string(about) == "z") CHECK(turned[i + 2] == still[i + 2]);
        // The image of the unit vector along x is what x of any point is multiplied by.
        const double along = double{still[i]} * turned[3] + double{still[i + 1]} * -turned[4];
        if (std::string(about) == "z") CHECK(turned[i] == doctest::Approx(along).epsilon(1e-4));
      }
      angles.insert(turned[3]);
    }
    CHECK(angles.size() == 20);
  }
}

TEST_CASE("jitter is normal noise of that deviation, clipped") {
  const Fields fields = one(cloud(20000));
  const Numbers still = row(fields, {}), noisy = row(fields, points::scale(1) | points::random_jitter(0.125, 0.25));
  double sum = 0, squares = 0, most = 0;
  for (std::size_t i = 1; i < still.size(); i += 3) {  // y is small, so that nothing is lost in the difference
    const double noise = double{noisy[i]} - double{still[i]};
    sum += noise;
    squares += noise * noise;
    most = std::max(most, std::abs(noise));
  }
  CHECK(std::abs(sum / 20000) < 0.004);
  CHECK(std::sqrt(squares / 20000) == doctest::Approx(0.1101).epsilon(0.03));  // of a normal cut off at two deviations
  CHECK(most <= 0.2500005);
}

TEST_CASE("arrays of points take the same steps, with all of their columns") {
  Fields fields;
  const Numbers values{3, 0, 0, 9, 1, 0, 0, 8, 2, 0, 0, 7};
  fields.add({.name = "cloud", .codec = "npy"}, npy("<f4", {3, 4}, to_bytes(values)));
  CHECK(row(fields, points::center()) == Numbers{1, 0, 0, 9, -1, 0, 0, 8, 0, 0, 0, 7});
  CHECK(row(fields, points::channels_first()) == Numbers{3, 1, 2, 0, 0, 0, 0, 0, 0, 9, 8, 7});
  const Program program({{{"cloud", points::center()}}}, fields.catalog());
  CHECK(program.outputs().size() == 1);  // no origin
  CHECK(program.outputs()[0].shape == Shape{3, 4});
}

TEST_CASE("surface() draws from the triangles of a mesh, other places for every epoch") {
  Fields fields;
  fields.add({.name = "off", .codec = "off"}, to_bytes("OFF\n4 2 0\n0 0 1\n2 0 1\n2 2 1\n0 2 1\n3 0 1 2\n3 0 2 3\n"));
  const Program program({{{"off", points::surface(500) | points::center()}}}, fields.catalog());
  CHECK(program.outputs()[0].shape == Shape{500, 3});
  const Numbers drawn = row(program, fields, {}, "off");
  CHECK(drawn != row(program, fields, {.epoch = 1}, "off"));
  for (std::size_t i = 0; i < drawn.size(); i += 3) {
    CHECK(std::abs(drawn[i]) <= 1.2);
    CHECK(std::abs(drawn[i + 2]) < 1e-5);
  }
  const Fields no_mesh = one(cloud(10));
  CHECK_THROWS_WITH(Program({{{"cloud", points::surface(5)}}}, no_mesh.catalog()),
                    doctest::Contains("requires meshes"));
  CHECK_THROWS_WITH(Program({{{"off", points::center() | points::surface(5)}}}, fields.catalog()),
                    doctest::Contains("must come first"));
}

TEST_CASE("scans of bare float32 are points of four columns, or of as many as said") {
  Fields fields;
  fields.add({.name = "bin", .codec = ""}, to_bytes(Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  const auto read = [&](const Chain& chain) {
    return row(Program({{{"bin", chain}}}, fields.catalog()), fields, {}, "bin");
  };
  CHECK(read(points::scale(1)).size() == 12);
  CHECK(read(points::decode({}, 6) | points::scale(2)) == Numbers{2, 4, 6, 4, 5, 6, 14, 16, 18, 10, 11, 12});
  CHECK_THROWS_WITH(read(points::decode({}, 5)), doctest::Contains("not a multiple of a point"));
}

TEST_CASE("coordinates that are no numbers are an error that names the point, unless finite() leaves them out") {
  Fields fields;
  Numbers values{0, 0, 0, 1, 1, 1, 2, 2, 2};
  values[4] = std::nanf("");
  fields.add({.name = "cloud", .codec = "npy"}, npy("<f4", {3, 3}, to_bytes(values)));
  CHECK_THROWS_WITH(row(fields, points::center()), doctest::Contains("point 1 has a coordinate"));
  CHECK(row(fields, points::drop_nonfinite()) == Numbers{0, 0, 0, 2, 2, 2});
  CHECK(row(fields, points::drop_nonfinite() | points::sample(2) | points::cast(DType::f32)).size() == 6);
}

TEST_CASE("what does not fit points is refused with the output's name") {
  const Fields fields = one(cloud(10));
  const auto refused = [&](const Chain& chain, const char* cause) {
    CHECK_THROWS_WITH(Program({{{"cloud", chain}}}, fields.catalog()), doctest::Contains(cause));
  };
  refused(points::center() | image::random_horizontal_flip(), "cannot be combined in one chain");
  refused(points::channels_first(), "equally many points");
  refused(points::decode({"colour"}), "have no attribute \"colour\"; they have: tag, nx");
  CHECK_THROWS_WITH_AS(points::sample(0), doctest::Contains("at least 1 point"), Error);
  refused(points::channels_first() | points::center(), "must come before");
  refused(points::valid_mask(), "must come after follow");
  const std::vector<FieldChain> made{{"cloud", points::voxel(1)},
                                     {"tags", field("cloud") | follow("cloud") | points::attribute("tag")}};
  CHECK_THROWS_WITH(Program(made, fields.catalog()), doctest::Contains("creates new points"));
}

TEST_CASE("chains of points are the same when written and read") {
  for (const char* text :
       {"points.decode([intensity, \"extra 1[0]\"]) | points.sample(4096) | points.center() | points.unit_sphere()",
        "points.sample(128, method=voxel, size=0.05, voxel=first, if_fewer=ragged) | points.random_rotate(free)",
        "points.sample(8, method=stratified, slices=4) | points.random_jitter(0.02, 0.1) | points.channels_first()",
        "points.decode(columns=5) | points.drop_nonfinite() | points.random_dropout(0.5) | points.pad(99) | "
        "cast(float16)",
        "field(las) | follow(cloud) | points.attribute(classification) | cast(int64)",
        "points.random_scale(0.5, 2) | points.random_shift(0.25) | points.random_shuffle() | points.unit_box() | "
        "points.scale(3)"}) {
    CHECK(to_string(parse_chain(text)) == text);
  }
}

TEST_CASE("a packed cloud that is cut or has one byte changed gives an error or points, never more than its bytes") {
  const Bytes whole = cloud(40);
  const auto read = [](const Bytes& bytes) {
    const Fields fields = one(bytes);
    try {
      row(fields, points::decode({"tag"}) | points::drop_nonfinite());
    } catch (const Error&) {
    }
  };
  for (std::size_t length = 0; length < whole.size(); ++length)
    read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
  std::mt19937 random(1);
  for (std::size_t i = 0; i < 200; ++i) {
    Bytes changed = whole;
    changed[i % 150] = static_cast<std::byte>(random());
    read(changed);
  }
}

}  // namespace penstock::test::points_program_test
