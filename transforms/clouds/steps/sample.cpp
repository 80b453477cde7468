#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kBlockOfSinglePoints = 256;

class SampleRunner final : public PointRunner {
 public:
  explicit SampleRunner(const step::Sample& sample) : sample_(sample) {
    if (sample.method != SampleMethod::blocks) sampler_ = make_sampler(sample.options());
  }

  void apply(PointBuffer& cloud, Random& random) override {
    cloud.require_finite();
    if (sampler_ != nullptr) {
      sampler_->choose(cloud.coordinates(), random, chosen_);
    } else {
      choose_in_blocks(cloud.rows(), static_cast<std::uint64_t>(sample_.points), kBlockOfSinglePoints,
                       sample_.block_count(kBlockOfSinglePoints), random, chosen_.numbers);
    }
    if (chosen_.cells.empty()) {
      cloud.take(chosen_.numbers);
    } else {
      cloud.average(chosen_);
    }
    if (sample_.points != 0) sample_.fill_up(cloud, random);
  }

 private:
  const step::Sample sample_;
  std::unique_ptr<PointSampler> sampler_;
  ChosenPoints chosen_;
};

}  // namespace

const StepTable& step::Sample::table() {
  static const PointTable<Sample> table{
      "points.sample",
      "Draws points, again for every seed, epoch and sample. If a cloud was packed in progressive order, each epoch "
      "gives the next run of stored points.",
      Parameter{"points", &Sample::points, required({.unit = "points"}), "how many"},
      Parameter{"method",
                &Sample::method,
                {.shown = Shown::unless_usual,
                 .refusal = "method must be random, blocks, fps, voxel, poisson, stratified or inverse_density, not"},
                "how points are chosen; `blocks` chooses stored neighbours, which is cheap but biased"},
      Parameter{"size", &Sample::size, option({.unit = "the cloud's unit"}),
                "edge of a voxel, least distance of poisson, or edge of a density cell"},
      Parameter{"voxel", &Sample::voxel, kOption, "point that represents an occupied cell"},
      Parameter{"slices", &Sample::slices, kOption, "number of slices of `stratified`, by height"},
      Parameter{"blocks", &Sample::blocks, option({.least = 0}),
                "number of runs of `blocks`; 0: as many as contain about twice the points"},
      Parameter{"if_fewer", &Sample::if_fewer, kOption,
                "for clouds with fewer points: repeat some of the points, deliver a ragged row, or raise an error"}};
  return table;
}

void step::Sample::check() const {
  constexpr std::int64_t kMostSampled = std::int64_t{1} << 31;
  const bool finds_number = method == SampleMethod::voxel || method == SampleMethod::poisson;
  if (points < (finds_number ? 0 : 1)) throw Error::invalid_argument("points.sample() needs at least 1 point");
  if (points > kMostSampled) throw Error::invalid_argument("points.sample() can draw at most 2,147,483,648 points");
  if (blocks < 0) throw Error::invalid_argument("points.sample(): blocks must not be negative");
  if (method != SampleMethod::blocks) make_sampler(options());
}

std::unique_ptr<PointRunner> step::Sample::runner() const {
  return std::make_unique<SampleRunner>(*this);
}

SampleOptions step::Sample::options() const {
  return {.method = method, .points = points, .size = size, .voxel = voxel, .slices = slices};
}

std::uint64_t step::Sample::block_count(std::uint64_t block_points) const {
  if (blocks != 0) return static_cast<std::uint64_t>(blocks);
  return (2 * static_cast<std::uint64_t>(points) + block_points - 1) / block_points;
}

void step::Sample::fill_up(PointBuffer& cloud, Random& random) const {
  const std::size_t found = cloud.rows();
  const auto wanted = static_cast<std::size_t>(points);
  if (found >= wanted || if_fewer == FewPoints::ragged) return;
  if (if_fewer == FewPoints::raise || found == 0) {
    throw Error::shape("has " + std::to_string(found) + " points, fewer than points.sample(" + std::to_string(wanted) +
                       ")");
  }
  std::vector<std::uint32_t>& positions = cloud.positions();
  positions.resize(wanted);
  for (std::size_t i = 0; i < wanted; ++i)
    positions[i] = static_cast<std::uint32_t>(i < found ? i : random.below(found));
  cloud.take(positions);
}

const StepTable& step::Voxel::table() {
  static const TableOf<Voxel> table{
      "points.voxel", "Gives one point for each occupied cell of a grid, as a Ragged.",
      Parameter{"size", &Voxel::size, required({.least = 0, .above_least = true, .unit = "the cloud's unit"}),
                "edge of a cell"},
      Parameter{"mode",
                &Voxel::mode,
                {.refusal = "mode must be centroid, first or random, not"},
                "centroid of the cell's points, the first one or a random one"}};
  return table;
}

step::Sample step::Voxel::stands_for() const {
  return {.method = SampleMethod::voxel, .size = size, .voxel = mode, .if_fewer = FewPoints::ragged};
}

const StepTable& step::Poisson::table() {
  static const TableOf<Poisson> table{
      "points.poisson", "Chooses points at least `distance` apart until no further point fits, as a Ragged.",
      Parameter{"distance", &Poisson::distance, required({.least = 0, .above_least = true, .unit = "the cloud's unit"}),
                "least distance between two points"}};
  return table;
}

step::Sample step::Poisson::stands_for() const {
  return {.method = SampleMethod::poisson, .size = distance, .if_fewer = FewPoints::ragged};
}

Chain points::sample(std::int64_t points, const std::string& method, const SampleKeywords& keywords) {
  step::Sample sample{.points = points, .size = keywords.size, .slices = keywords.slices, .blocks = keywords.blocks};
  choose(sample, "method", method);
  choose(sample, "voxel", keywords.voxel);
  choose(sample, "if_fewer", keywords.if_fewer);
  return one_step(sample);
}

Chain points::voxel(double size, const std::string& mode) {
  step::Voxel voxel{.size = size};
  choose(voxel, "mode", mode);
  return one_step(voxel.stands_for());
}

}  // namespace penstock
