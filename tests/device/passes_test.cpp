// Tests what the passes compute on the processor, against plain formulas.
#include <algorithm>
#include <array>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <device/host/host_device.hpp>
#include <device/passes.hpp>
#include <device/point_team.hpp>
#include <penstock/error.hpp>

using namespace penstock;

namespace {

std::vector<std::uint8_t> random_bytes(std::size_t count) {
  std::minstd_rand random(3);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() >> 8);
  return bytes;
}

// Of binary16, by its definition.
double value_of_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::vector<float> random_points(std::size_t count) {
  std::minstd_rand random(5);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 100 - 10;
  return values;
}

PointPass pass_of(const std::vector<float>& in, std::vector<float>& out, std::int64_t clouds, std::int32_t columns,
                  const std::vector<PointMove>& moves) {
  PointPass pass{.in = in.data(), .work = out.data(), .out = out.data(), .clouds = clouds, .columns = columns};
  for (const PointMove& move : moves) pass.move[pass.moves++] = move;
  return pass;
}

std::vector<PointMove> random_moves(std::minstd_rand& random) {
  std::vector<PointMove> moves(random() % 6);
  for (PointMove& move : moves) {
    move = {static_cast<PointMove::Kind>(random() % 8), static_cast<std::uint32_t>(random()), 0.5, 0.75};
  }
  return moves;
}

using Points = std::vector<std::array<double, 3>>;

/// What the moves make of points, in float64; what is random is taken from two of the points found.
Points moved(Points points, const Points& found, const std::vector<PointMove>& moves) {
  using Kind = PointMove::Kind;
  for (const PointMove& move : moves) {
    std::array<double, 3> mean{};
    double longest = 0;
    for (const auto& p : points) {
      for (std::size_t axis = 0; axis < 3; ++axis) mean[axis] += p[axis] / static_cast<double>(points.size());
      longest = std::max(longest, std::hypot(p[0], p[1], p[2]));
    }
    const std::array<double, 3> first = points[0];
    const double flat = first[0] * first[0] + first[1] * first[1];
    const double cosine = (first[0] * found[0][0] + first[1] * found[0][1]) / flat;
    const double sine = (first[0] * found[0][1] - first[1] * found[0][0]) / flat;
    const double factor = found[0][0] / first[0];
    if (move.kind == Kind::random_scale) CHECK((factor >= move.low && factor < move.high));
    for (std::size_t i = 0; i < points.size(); ++i) {
      auto& p = points[i];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (move.kind == Kind::center) p[axis] -= mean[axis];
        if (move.kind == Kind::unit_sphere) p[axis] /= longest;
        if (move.kind == Kind::scale) p[axis] *= move.low;
        if (move.kind == Kind::random_scale) p[axis] *= factor;
        if (move.kind == Kind::shift) {
          CHECK(std::abs(found[0][axis] - first[axis]) <= move.low);
          p[axis] += found[0][axis] - first[axis];
        }
      }
      if (move.kind == Kind::rotate_about_z) p = {cosine * p[0] - sine * p[1], sine * p[0] + cosine * p[1], p[2]};
      if (move.kind == Kind::rotate_free) {  // keeps lengths, and angles with the first point
        CHECK(std::abs(std::hypot(p[0], p[1], p[2]) - std::hypot(found[i][0], found[i][1], found[i][2])) < 2e-5);
        const auto angle = [](const auto& a, const auto& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
        CHECK(std::abs(angle(p, first) - angle(found[i], found[0])) < 1e-3);
      }
    }
    if (move.kind == Kind::rotate_free) points = found;
  }
  return points;
}

/// A team as a device has it: threads that meet at a barrier.
struct TeamMemory {
  explicit TeamMemory(unsigned threads) : barrier(threads), values(threads), counted(threads) {}
  std::barrier<> barrier;
  point_team::Shared shared{};
  std::vector<float> values;
  std::vector<unsigned> counted;
};

class Member {
 public:
  Member(TeamMemory& memory, unsigned rank) : memory_(memory), rank_(rank) {}
  unsigned rank() const { return rank_; }
  unsigned size() const { return static_cast<unsigned>(memory_.values.size()); }
  void sync() const { memory_.barrier.arrive_and_wait(); }
  point_team::Shared& shared() { return memory_.shared; }
  float largest(float value) {
    memory_.values[rank_] = value;
    sync();
    const float found = *std::max_element(memory_.values.begin(), memory_.values.end());
    sync();
    return found;
  }
  unsigned before(bool counts, unsigned& total) {
    memory_.counted[rank_] = counts ? 1 : 0;
    sync();
    const auto from = memory_.counted.begin();
    total = std::accumulate(from, memory_.counted.end(), 0U);
    const unsigned ahead = std::accumulate(from, from + rank_, 0U);
    sync();
    return ahead;
  }

 private:
  TeamMemory& memory_;
  const unsigned rank_;
};

template <typename Out>
void store_as(void* out, std::int64_t at, Out value) {
  static_cast<Out*>(out)[at] = value;
}

/// Rounded as run_on_host() rounds, which other tests look at.
void store_narrow(void* out, std::int64_t at, DType dtype, float value) {
  float in[3] = {value, 0, 0};
  std::uint16_t rounded[3];
  PointPass one{.in = in, .work = in, .out = rounded};
  one.clouds = one.in_points = one.points = 1, one.dtype = dtype;
  run_on_host(one);
  store_as(out, at, rounded[0]);
}

void run_by_team(const PointPass& pass, unsigned threads) {
  TeamMemory memory(threads);
  std::vector<std::jthread> team;
  for (unsigned rank = 0; rank < threads; ++rank) {
    team.emplace_back([&memory, &pass, rank] {
      Member member(memory, rank);
      const auto put = [&pass](void* out, std::int64_t at, float value) {
        if (pass.dtype == DType::f32) return store_as(out, at, value);
        if (pass.dtype == DType::f64) return store_as(out, at, static_cast<double>(value));
        store_narrow(out, at, pass.dtype, value);
      };
      for (std::int64_t cloud = 0; cloud < pass.clouds; ++cloud) point_team::run(member, pass, cloud, put);
    });
  }
}

constexpr float kMean[] = {0.485F, 0.456F, 0.406F}, kDeviation[] = {0.229F, 0.224F, 0.225F};

}  // namespace

TEST_CASE("images are normalized, cropped and mirrored into either layout") {
  constexpr int kRows = 3, kHeight = 7, kWidth = 9, kOutHeight = 4, kOutWidth = 6;
  const auto in = random_bytes(kRows * kHeight * kWidth * 3);
  const std::vector<ImageCrop> crops{{0, 0, 0}, {3, 3, 1}, {1, 2, 1}};
  for (const bool channels_last : {false, true}) {
    std::vector<float> out(kRows * kOutHeight * kOutWidth * 3);
    ImagePass pass{.in = in.data(), .out = out.data(), .crops = crops.data(), .rows = kRows};
    pass.in_height = kHeight, pass.in_width = kWidth, pass.height = kOutHeight, pass.width = kOutWidth;
    pass.channels_last = channels_last;
    normalize(pass, kMean, kDeviation);
    run_on_host(pass);
    for (int n = 0; n < kRows; ++n) {
      for (int y = 0; y < kOutHeight; ++y) {
        for (int x = 0; x < kOutWidth; ++x) {
          for (int c = 0; c < 3; ++c) {
            const ImageCrop crop = crops[static_cast<std::size_t>(n)];
            const int from_x = crop.x + (crop.flip != 0 ? kOutWidth - 1 - x : x);
            const double level = in[static_cast<std::size_t>(((n * kHeight + crop.y + y) * kWidth + from_x) * 3 + c)];
            const double expected = (level / 255 - static_cast<double>(kMean[c])) / static_cast<double>(kDeviation[c]);
            const int at = channels_last ? ((n * kOutHeight + y) * kOutWidth + x) * 3 + c
                                         : ((n * 3 + c) * kOutHeight + y) * kOutWidth + x;
            CHECK(std::abs(static_cast<double>(out[static_cast<std::size_t>(at)]) - expected) < 1e-6);
          }
        }
      }
    }
  }
}

TEST_CASE("narrower types are rounded to nearest even") {
  std::vector<std::uint8_t> in(256);
  for (std::size_t i = 0; i < 256; ++i) in[i] = static_cast<std::uint8_t>(i);
  for (const float scale : {1.0F, 257.0F, 1e-3F, 2e-8F, 300.0F}) {
    std::vector<std::uint16_t> halves(256), brains(256);
    ImagePass pass{.in = in.data(), .out = halves.data(), .rows = 1, .channels = 1};
    pass.in_height = pass.height = 16, pass.in_width = pass.width = 16;
    pass.dtype = DType::f16;
    pass.scale[0] = scale;
    run_on_host(pass);
    pass.dtype = DType::bf16;
    pass.out = brains.data();
    run_on_host(pass);
    for (std::size_t i = 0; i < 256; ++i) {
      const float exact = static_cast<float>(i) * scale;
      if (exact < 65520.0F) {
        const double half = value_of_half(halves[i]);
        const double error = std::abs(half - static_cast<double>(exact));
        for (const int step : {-1, 1}) {
          const auto beside = static_cast<std::uint16_t>(halves[i] + step);
          if (halves[i] == 0 && step < 0) continue;
          const double other = std::abs(value_of_half(beside) - static_cast<double>(exact));
          CHECK((beside & 0x7fff) < 0x7c01);
          CHECK((error < other || (error == other && halves[i] % 2 == 0)));
        }
      } else {
        CHECK(halves[i] == 0x7c00);
      }
      const float brain = std::bit_cast<float>(static_cast<std::uint32_t>(brains[i]) << 16);
      CHECK(std::abs(brain - exact) <= std::abs(exact) / 256);
    }
  }
}

TEST_CASE("points are taken by number, and each move is what its name says") {
  constexpr int kClouds = 4, kIn = 50, kOut = 20, kColumns = 5;
  const auto in = random_points(kClouds * kIn * kColumns);
  std::minstd_rand random(5);
  std::vector<std::int32_t> numbers(kClouds * kOut);
  for (std::int32_t& number : numbers) number = static_cast<std::int32_t>(random() % kIn);
  const std::vector<std::uint64_t> samples{3, 1, 4, 1};
  using Kind = PointMove::Kind;
  for (const std::vector<PointMove>& moves : {std::vector<PointMove>{},
                                              {{Kind::center}},
                                              {{Kind::unit_sphere}},
                                              {{Kind::center}, {Kind::unit_sphere}},
                                              {{Kind::scale, 0, 0.25}},
                                              {{Kind::random_scale, 1, 0.5, 2}},
                                              {{Kind::shift, 2, 3}},
                                              {{Kind::rotate_about_z, 3}},
                                              {{Kind::rotate_free, 4}}}) {
    std::vector<float> out(kClouds * kOut * kColumns);
    PointPass pass = pass_of(in, out, kClouds, kColumns, moves);
    pass.numbers = numbers.data(), pass.samples = samples.data();
    pass.in_points = kIn, pass.points = kOut, pass.key = key_of_draws(7, 2);
    check(pass);
    run_on_host(pass);
    for (int n = 0; n < kClouds; ++n) {
      Points taken, found;
      for (int i = 0; i < kOut; ++i) {
        const auto at = static_cast<std::size_t>(n * kOut + i);
        const float* row = &in[static_cast<std::size_t>((n * kIn + numbers[at]) * kColumns)];
        taken.push_back({row[0], row[1], row[2]});
        found.push_back({out[at * kColumns], out[at * kColumns + 1], out[at * kColumns + 2]});
        CHECK(out[at * kColumns + 3] == row[3]);
        CHECK(out[at * kColumns + 4] == row[4]);
      }
      const Points expected = moved(taken, found, moves);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        for (std::size_t axis = 0; axis < 3; ++axis) CHECK(std::abs(found[i][axis] - expected[i][axis]) < 2e-5);
      }
    }
  }
}

TEST_CASE("normals turn with their points, and rotations keep lengths and handedness") {
  const std::vector<float> cloud{1, 0, 0, 0, 1, 0, 5, 0, 1, 0, 0, 0, 1, 6, 0, 0, 1, 1, 0, 0, 7};
  const std::vector<std::uint64_t> samples{11};
  for (const PointMove::Kind kind : {PointMove::Kind::rotate_about_z, PointMove::Kind::rotate_free}) {
    std::vector<float> out = cloud;
    PointPass pass = pass_of(out, out, 1, 7, {{kind, 9}});
    pass.samples = samples.data(), pass.in_points = pass.points = 3, pass.normals = 3;
    run_on_host(pass);
    const float *x = &out[0], *y = &out[7], *z = &out[14];
    for (const float* row : {x, y, z}) CHECK(std::abs(std::hypot(row[0], row[1], row[2]) - 1) < 1e-6F);
    CHECK(std::abs((x[1] * y[2] - x[2] * y[1]) - z[0]) < 1e-6F);
    CHECK(std::abs((x[2] * y[0] - x[0] * y[2]) - z[1]) < 1e-6F);
    CHECK(std::abs((x[0] * y[1] - x[1] * y[0]) - z[2]) < 1e-6F);
    for (std::size_t axis = 0; axis < 3; ++axis) CHECK(x[3 + axis] == y[axis]);  // the normal of the first
    CHECK(out != cloud);
    if (kind == PointMove::Kind::rotate_about_z) CHECK(z[2] == 1);
  }
}

TEST_CASE("jitter is normal, clipped, and a function of key, sample and step alone") {
  constexpr int kPoints = 20001;
  const std::vector<float> in(2 * kPoints * 3, 0);
  const auto draws = [&](std::uint64_t seed, std::array<std::uint64_t, 2> samples, double clip) {
    std::vector<float> out(2 * kPoints * 3);
    PointPass pass = pass_of(in, out, 2, 3, {{PointMove::Kind::jitter, 5, 0.5, clip}});
    pass.samples = samples.data(), pass.in_points = pass.points = kPoints, pass.key = key_of_draws(seed, 0);
    run_on_host(pass);
    return out;
  };
  const auto once = draws(1, {10, 11}, 100);
  CHECK(draws(1, {10, 11}, 100) == once);
  CHECK(draws(2, {10, 11}, 100) != once);
  const auto swapped = draws(1, {11, 10}, 100);
  CHECK(std::equal(once.begin(), once.begin() + kPoints * 3, swapped.begin() + kPoints * 3));
  for (int axis = 0; axis < 3; ++axis) {
    double sum = 0, squares = 0, cubes = 0;
    for (int i = 0; i < kPoints; ++i) {
      const auto draw = static_cast<double>(once[static_cast<std::size_t>(i * 3 + axis)]) / 0.5;
      sum += draw, squares += draw * draw, cubes += draw * draw * draw;
    }
    CHECK(std::abs(sum / kPoints) < 0.03);
    CHECK(std::abs(squares / kPoints - 1) < 0.05);
    CHECK(std::abs(cubes / kPoints) < 0.12);
  }
  for (const float value : draws(1, {10, 11}, 0.25)) CHECK(std::abs(value) <= 0.25F);
}

TEST_CASE("a team of threads, as a device has them, gives the bytes of one thread, in every shape") {
  std::minstd_rand random(13);
  for (int round = 0; round < 60; ++round) {
    const auto columns = static_cast<std::int32_t>(3 + random() % 5);
    const auto clouds = static_cast<std::int64_t>(1 + random() % 4);
    std::vector<std::int64_t> begins{0};
    std::vector<float> nowhere;
    const bool ragged = random() % 3 == 0, numbered = !ragged && random() % 2 == 0;
    const auto points = static_cast<std::int64_t>(1 + random() % 90), in_points = points + 5;
    for (std::int64_t n = 0; n < clouds; ++n)
      begins.push_back(begins.back() + static_cast<std::int64_t>(random() % 70));
    if (begins.back() == 0) begins.back() = 1;
    const std::int64_t all = ragged ? begins.back() : clouds * points;
    const auto in = random_points(static_cast<std::size_t>((ragged ? all : clouds * in_points) * columns));
    std::vector<std::uint64_t> samples;
    std::vector<std::int32_t> numbers;
    for (std::int64_t n = 0; n < clouds; ++n) samples.push_back(random());
    for (std::int64_t i = 0; i < all; ++i)
      numbers.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(in_points)));

    PointPass pass = pass_of(in, nowhere, clouds, columns, random_moves(random));
    pass.numbers = numbered ? numbers.data() : nullptr, pass.begins = ragged ? begins.data() : nullptr;
    pass.samples = samples.data(), pass.key = random();
    pass.in_points = ragged ? all : numbered ? in_points : points, pass.points = ragged ? all : points;
    pass.normals = columns >= 6 && random() % 2 == 0 ? columns - 3 : 0;
    pass.dtype = std::vector{DType::f32, DType::f16, DType::bf16, DType::f64}[random() % 4];
    pass.channels_first = !ragged && random() % 2 == 0;
    const auto elements = static_cast<std::size_t>(all * columns);
    const auto run_with = [&](auto run) {
      std::vector<float> work(elements);
      std::vector<std::byte> out(elements * size_of(pass.dtype));
      PointPass mine = pass;
      mine.work = work.data(), mine.out = out.data();
      check(mine);
      run(mine);
      return out;
    };
    const auto expected = run_with([](const PointPass& mine) { run_on_host(mine); });
    for (const unsigned threads : {2U, 7U, 32U}) {
      CHECK(run_with([threads](const PointPass& mine) { run_by_team(mine, threads); }) == expected);
    }
  }
}

TEST_CASE("passes that no device has are refused before they are enqueued") {
  const std::uint8_t pixel = 0;
  float out = 0;
  ImagePass image{.in = &pixel, .out = &out, .rows = 1, .channels = 1};
  image.in_height = image.in_width = image.height = image.width = 1;
  check(image);
  HostDevice device(0);
  const auto refused = [&](auto change) {
    ImagePass changed = image;
    change(changed);
    CHECK_THROWS_AS(device.run(changed, kDefaultStream), Error);
  };
  refused([](ImagePass& pass) { pass.in = nullptr; });
  refused([](ImagePass& pass) { pass.rows = 0; });
  refused([](ImagePass& pass) { pass.rows = 70000; });
  refused([](ImagePass& pass) { pass.channels = 2; });
  refused([](ImagePass& pass) { pass.width = 2; });
  refused([](ImagePass& pass) { pass.dtype = DType::i64; });
  const float point[3] = {};
  float work[3] = {};
  PointPass points{.in = point, .work = work, .out = &out};
  points.clouds = points.in_points = points.points = 1;
  check(points);
  const auto refused_points = [&](auto change) {
    PointPass changed = points;
    change(changed);
    CHECK_THROWS_AS(device.run(changed, kDefaultStream), Error);
  };
  const std::int32_t number = 0;
  refused_points([](PointPass& pass) { pass.points = 2; });
  refused_points([](PointPass& pass) { pass.work = nullptr; });
  refused_points([](PointPass& pass) { pass.moves = PointPass::kMostMoves + 1; });
  refused_points([](PointPass& pass) { pass.moves = 1, pass.move[0].kind = PointMove::Kind::jitter; });
  refused_points([](PointPass& pass) { pass.normals = 1; });
  refused_points([](PointPass& pass) { pass.dtype = DType::u8; });
  refused_points([](PointPass& pass) { pass.out = pass.work, pass.dtype = DType::f16; });
  refused_points([&](PointPass& pass) { pass.numbers = &number, pass.in = pass.work; });
}
