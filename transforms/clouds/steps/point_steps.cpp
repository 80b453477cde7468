#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>

#include <penstock/base/error.hpp>
#include <penstock/transforms/clouds/steps/point_steps.hpp>
#include <penstock/transforms/normal_draws.hpp>

namespace penstock {
namespace {

constexpr std::size_t kAxes = 3;
constexpr std::size_t kLanes = 8;

// In a fixed order, whatever the vectors of the machine: the bytes of a batch depend on it.
double sum(const float* values, std::size_t count) {
  std::array<double, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(values[i + lane]);
  }
  double total = 0;
  for (; i < count; ++i) total += static_cast<double>(values[i]);
  for (const double lane : lanes) total += lane;
  return total;
}

struct Bounds {
  float low, high;
};

// max and min do not depend on the order, so the compiler may choose it.
Bounds bounds(const float* values, std::size_t count) {
  Bounds found{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  for (std::size_t i = 0; i < count; ++i) {
    found.low = values[i] < found.low ? values[i] : found.low;
    found.high = values[i] > found.high ? values[i] : found.high;
  }
  return found;
}

void add(float* values, std::size_t count, float offset) {
  for (std::size_t i = 0; i < count; ++i) values[i] += offset;
}

void multiply(PointBuffer& cloud, float factor) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    float* values = cloud.column(axis);
    for (std::size_t i = 0; i < cloud.rows(); ++i) values[i] *= factor;
  }
}

class CenterStep final : public PointStep {
  void apply(PointBuffer& cloud, Random&) override {
    if (cloud.rows() == 0) return;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      float* values = cloud.column(axis);
      const double mean = sum(values, cloud.rows()) / static_cast<double>(cloud.rows());
      add(values, cloud.rows(), static_cast<float>(-mean));
    }
  }
};

class UnitSphereStep final : public PointStep {
  void apply(PointBuffer& cloud, Random&) override {
    const auto [x, y, z, count] = cloud.coordinates();
    std::array<float, kLanes> lanes{};
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::size_t at = i + lane;
        const float square = (x[at] * x[at] + y[at] * y[at]) + z[at] * z[at];
        lanes[lane] = square > lanes[lane] ? square : lanes[lane];
      }
    }
    for (; i < count; ++i) lanes[0] = std::max(lanes[0], (x[i] * x[i] + y[i] * y[i]) + z[i] * z[i]);
    const float longest = std::sqrt(*std::max_element(lanes.begin(), lanes.end()));
    if (longest > 0 && std::isfinite(longest)) multiply(cloud, 1.0F / longest);
  }
};

class UnitBoxStep final : public PointStep {
  void apply(PointBuffer& cloud, Random&) override {
    float longest = 0;
    for (std::size_t axis = 0; axis < kAxes && cloud.rows() != 0; ++axis) {
      const Bounds found = bounds(cloud.column(axis), cloud.rows());
      add(cloud.column(axis), cloud.rows(), -(found.low + (found.high - found.low) / 2));
      longest = std::max(longest, found.high - found.low);
    }
    if (longest > 0 && std::isfinite(longest)) multiply(cloud, 2.0F / longest);
  }
};

class ScaleStep final : public PointStep {
 public:
  explicit ScaleStep(double factor) : factor_(static_cast<float>(factor)) {}
  void apply(PointBuffer& cloud, Random&) override { multiply(cloud, factor_); }

 private:
  float factor_;
};

class RandomScaleStep final : public PointStep {
 public:
  explicit RandomScaleStep(const step::RandomScale& scale) : scale_(scale) {}
  void apply(PointBuffer& cloud, Random& random) override {
    multiply(cloud, static_cast<float>(random.uniform(scale_.low, scale_.high)));
  }

 private:
  step::RandomScale scale_;
};

class ShiftStep final : public PointStep {
 public:
  explicit ShiftStep(double range) : range_(range) {}
  void apply(PointBuffer& cloud, Random& random) override {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      add(cloud.column(axis), cloud.rows(), static_cast<float>(random.uniform(-range_, range_)));
    }
  }

 private:
  double range_;
};

class JitterStep final : public PointStep {
 public:
  explicit JitterStep(const step::Jitter& jitter) : jitter_(jitter) {}
  void apply(PointBuffer& cloud, Random& random) override {
    const auto clip = static_cast<float>(jitter_.clip);
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      float* values = cloud.column(axis);
      for (std::size_t i = 0; i < cloud.rows(); i += 2) {
        const auto [first, second] = draw_normals(random);
        values[i] += std::clamp(static_cast<float>(jitter_.sigma * first), -clip, clip);
        if (i + 1 < cloud.rows()) {
          values[i + 1] += std::clamp(static_cast<float>(jitter_.sigma * second), -clip, clip);
        }
      }
    }
  }

 private:
  step::Jitter jitter_;
};

using Matrix = std::array<std::array<float, 3>, 3>;

// The first two are uniform in the disc of radius 1, without its middle; the third is their squared distance from it.
std::array<double, 3> draw_in_disc(Random& random) {
  for (;;) {
    const double u = random.uniform(-1, 1), v = random.uniform(-1, 1), square = u * u + v * v;
    if (square > 0 && square <= 1) return {u, v, square};
  }
}

// The angle of a uniform point of the disc is uniform, and so is twice the angle, whose sine and cosine need no more
// than products. Source: von Neumann, "Various techniques used in connection with random digits", 1951.
Matrix rotation_about_z(Random& random) {
  const auto [u, v, square] = draw_in_disc(random);
  const auto cosine = static_cast<float>((u * u - v * v) / square), sine = static_cast<float>(2 * u * v / square);
  return {{{cosine, -sine, 0}, {sine, cosine, 0}, {0, 0, 1}}};
}

// A uniform unit quaternion (w, x, y, z). Source: Marsaglia, "Choosing a point from the surface of a sphere", 1972.
Matrix rotation_of_any_kind(Random& random) {
  const auto [w, x, first] = draw_in_disc(random);
  const auto [u, v, second] = draw_in_disc(random);
  const double length = std::sqrt((1 - first) / second);
  const double y = u * length, z = v * length;
  const auto f = [](double value) { return static_cast<float>(value); };
  return {{{f(1 - 2 * (y * y + z * z)), f(2 * (x * y - w * z)), f(2 * (x * z + w * y))},
           {f(2 * (x * y + w * z)), f(1 - 2 * (x * x + z * z)), f(2 * (y * z - w * x))},
           {f(2 * (x * z - w * y)), f(2 * (y * z + w * x)), f(1 - 2 * (x * x + y * y))}}};
}

class RotateStep final : public PointStep {
 public:
  RotateStep(bool free, std::size_t normals) : free_(free), normals_(normals) {}
  void apply(PointBuffer& cloud, Random& random) override {
    const Matrix matrix = free_ ? rotation_of_any_kind(random) : rotation_about_z(random);
    turn(cloud, 0, matrix);
    if (normals_ != 0) turn(cloud, normals_, matrix);
  }

 private:
  static void turn(PointBuffer& cloud, std::size_t first, const Matrix& m) {
    float *x = cloud.column(first), *y = cloud.column(first + 1), *z = cloud.column(first + 2);
    for (std::size_t i = 0; i < cloud.rows(); ++i) {
      const float a = x[i], b = y[i], c = z[i];
      x[i] = (m[0][0] * a + m[0][1] * b) + m[0][2] * c;
      y[i] = (m[1][0] * a + m[1][1] * b) + m[1][2] * c;
      z[i] = (m[2][0] * a + m[2][1] * b) + m[2][2] * c;
    }
  }

  bool free_;
  std::size_t normals_;
};

class DropoutStep final : public PointStep {
 public:
  explicit DropoutStep(double most) : most_(most) {}
  void apply(PointBuffer& cloud, Random& random) override {
    const double ratio = random.uniform() * most_;
    positions_.resize(cloud.rows());
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      positions_[i] = random.uniform() < ratio ? 0 : static_cast<std::uint32_t>(i);
    }
    cloud.take(positions_);
  }

 private:
  double most_;
  std::vector<std::uint32_t> positions_;
};

class ShuffleStep final : public PointStep {
  void apply(PointBuffer& cloud, Random& random) override {
    positions_.resize(cloud.rows());
    for (std::size_t i = 0; i < positions_.size(); ++i) positions_[i] = static_cast<std::uint32_t>(i);
    for (std::size_t i = positions_.size(); i > 1; --i) std::swap(positions_[i - 1], positions_[random.below(i)]);
    cloud.take(positions_);
  }

  std::vector<std::uint32_t> positions_;
};

bool finite_at(const PointColumns& cloud, std::size_t i) {
  return std::isfinite(cloud.x[i]) && std::isfinite(cloud.y[i]) && std::isfinite(cloud.z[i]);
}

class FiniteStep final : public PointStep {
  void apply(PointBuffer& cloud, Random&) override {
    const PointColumns points = cloud.coordinates();
    positions_.clear();
    for (std::size_t i = 0; i < points.count; ++i) {
      if (finite_at(points, i)) positions_.push_back(static_cast<std::uint32_t>(i));
    }
    if (positions_.size() != points.count) cloud.take(positions_);
  }

  std::vector<std::uint32_t> positions_;
};

class PadStep final : public PointStep {
 public:
  explicit PadStep(std::int64_t points) : points_(static_cast<std::size_t>(points)) {}
  void apply(PointBuffer& cloud, Random&) override {
    if (cloud.rows() > points_) {
      throw Error::shape("has " + std::to_string(cloud.rows()) + " points, more than points.pad(" +
                         std::to_string(points_) + ")");
    }
    cloud.pad(points_);
  }

 private:
  std::size_t points_;
};

constexpr std::uint64_t kBlockOfSinglePoints = 256;

class SampleStep final : public PointStep {
 public:
  explicit SampleStep(const step::Sample& sample) : sample_(sample) {
    if (sample.options.method != SampleMethod::blocks) sampler_ = make_sampler(sample.options);
  }

  void apply(PointBuffer& cloud, Random& random) override {
    require_finite(cloud);
    const auto wanted = static_cast<std::size_t>(sample_.options.points);
    if (sampler_ != nullptr) {
      sampler_->choose(cloud.coordinates(), random, chosen_);
    } else {
      choose_in_blocks(cloud.rows(), wanted, kBlockOfSinglePoints, block_count(sample_, kBlockOfSinglePoints), random,
                       chosen_.numbers);
    }
    if (chosen_.cells.empty()) {
      cloud.take(chosen_.numbers);
    } else {
      cloud.average(chosen_);
    }
    if (wanted != 0) fill_up(cloud, wanted, sample_.few, random);
  }

 private:
  const step::Sample sample_;
  std::unique_ptr<PointSampler> sampler_;
  ChosenPoints chosen_;
};

struct NoPointStep {};

// The one list of the steps of points: those that it makes something else of than NoPointStep.
struct MakeStep {
  std::size_t normals;
  using Made = std::unique_ptr<PointStep>;

  Made operator()(const step::Sample& sample) const { return std::make_unique<SampleStep>(sample); }
  Made operator()(const step::Finite&) const { return std::make_unique<FiniteStep>(); }
  Made operator()(const step::Center&) const { return std::make_unique<CenterStep>(); }
  Made operator()(const step::UnitSphere&) const { return std::make_unique<UnitSphereStep>(); }
  Made operator()(const step::UnitBox&) const { return std::make_unique<UnitBoxStep>(); }
  Made operator()(const step::Scale& scale) const { return std::make_unique<ScaleStep>(scale.factor); }
  Made operator()(const step::Rotate& rotate) const { return std::make_unique<RotateStep>(rotate.free, normals); }
  Made operator()(const step::Jitter& jitter) const { return std::make_unique<JitterStep>(jitter); }
  Made operator()(const step::RandomScale& scale) const { return std::make_unique<RandomScaleStep>(scale); }
  Made operator()(const step::Shift& shift) const { return std::make_unique<ShiftStep>(shift.range); }
  Made operator()(const step::Dropout& dropout) const { return std::make_unique<DropoutStep>(dropout.most); }
  Made operator()(const step::ShufflePoints&) const { return std::make_unique<ShuffleStep>(); }
  Made operator()(const step::Pad& pad) const { return std::make_unique<PadStep>(pad.points); }
  template <typename Other>
  NoPointStep operator()(const Other&) const {
    return {};
  }
};

template <typename Kind>
constexpr bool kIsPointStep = !std::is_same_v<std::invoke_result_t<MakeStep, const Kind&>, NoPointStep>;

}  // namespace

std::unique_ptr<PointStep> make_point_step(const Step& step, std::size_t normals) {
  return std::visit(
      [&]<typename Kind>(const Kind& kind) -> std::unique_ptr<PointStep> {
        if constexpr (kIsPointStep<Kind>) return MakeStep{normals}(kind);
        return nullptr;
      },
      step);
}

bool is_point_step(const Step& step) {
  return std::visit([]<typename Kind>(const Kind&) { return kIsPointStep<Kind>; }, step);
}

std::uint64_t block_count(const step::Sample& sample, std::uint64_t block_points) {
  if (sample.blocks != 0) return static_cast<std::uint64_t>(sample.blocks);
  return (2 * static_cast<std::uint64_t>(sample.options.points) + block_points - 1) / block_points;
}

void fill_up(PointBuffer& cloud, std::size_t wanted, FewPoints few, Random& random) {
  const std::size_t found = cloud.rows();
  if (found >= wanted || few == FewPoints::ragged) return;
  if (few == FewPoints::raise || found == 0) {
    throw Error::shape("has " + std::to_string(found) + " points, fewer than points.sample(" + std::to_string(wanted) +
                       ")");
  }
  std::vector<std::uint32_t> positions(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    positions[i] = static_cast<std::uint32_t>(i < found ? i : random.below(found));
  }
  cloud.take(positions);
}

void require_finite(const PointBuffer& cloud) {
  const PointColumns points = cloud.coordinates();
  unsigned odd = 0;
  for (const float* values : {points.x, points.y, points.z}) {
    for (std::size_t i = 0; i < points.count; ++i) {
      constexpr std::uint32_t kExponent = 0x7f800000;  // all ones: infinite, or no number
      odd |= static_cast<unsigned>((std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent);
    }
  }
  if (odd == 0) return;
  for (std::size_t i = 0; i < points.count; ++i) {
    if (!finite_at(points, i)) {
      throw Error::corrupt("point " + std::to_string(cloud.numbers()[i]) +
                           " has a coordinate that is no finite number; points.finite() leaves such points out");
    }
  }
}

}  // namespace penstock
