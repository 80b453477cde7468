#include <algorithm>

#include <penstock/error.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/samplers/sampler.hpp>
#include <transforms/output.hpp>
#include <transforms/program/points_program.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kBlockPoints = 256;        // for codecs without chunks
constexpr std::uint32_t kFillDraws = 0x8f1bbcdc;   // separates the draws of fill_up() from those of the sample
constexpr std::uint64_t kMostPoints = 0xfffffffe;  // numbers of points have 32 bits

// Takes run number `epoch` of the cloud's runs of `wanted` points. The first run begins anywhere. After points / wanted
// epochs, all points have been delivered.
void draw_window(std::uint64_t points, std::uint64_t wanted, std::uint64_t epoch, std::uint64_t first,
                 std::vector<std::uint32_t>& numbers) {
  const std::uint64_t start = (first + (epoch % points) * wanted % points) % points;
  const std::uint64_t behind = std::min(wanted, points - start);  // up to the end; others are at the beginning
  numbers.clear();
  for (std::uint64_t i = 0; i < wanted - behind; ++i) numbers.push_back(static_cast<std::uint32_t>(i));
  for (std::uint64_t i = 0; i < behind; ++i) numbers.push_back(static_cast<std::uint32_t>(start + i));
}

}  // namespace

bool FirstDraw::possible(const step::Sample& sample) {
  const SampleMethod method = sample.method;
  return sample.points > 0 &&
         (method == SampleMethod::random || method == SampleMethod::blocks || method == SampleMethod::fps);
}

bool FirstDraw::draw(const CloudHeader& cloud, const SampleContext& sample, std::vector<std::uint32_t>& numbers) const {
  const auto wanted = std::min(static_cast<std::uint64_t>(sample_.points), cloud.points);
  if (cloud.points > kMostPoints) throw Error::unsupported("has more than 4,294,967,294 points");
  Random random = draws(sample);
  const SampleMethod method = sample_.method;
  if (wanted == cloud.points) {
    draw_window(std::max<std::uint64_t>(wanted, 1), wanted, 0, 0, numbers);
  } else if (method == SampleMethod::fps) {
    if (cloud.order != PointOrder::farthest) return false;
    draw_window(cloud.points, wanted, 0, 0, numbers);
  } else if (method == SampleMethod::random &&
             (cloud.order == PointOrder::random || cloud.order == PointOrder::stratified)) {
    Random once(sample.seed, 0, sample.draws(), transform_);  // the same in every epoch
    draw_window(cloud.points, wanted, sample.epoch, once.below(cloud.points), numbers);
  } else if (method == SampleMethod::random) {
    choose_random(cloud.points, wanted, random, numbers);
  } else {
    const std::uint64_t block = cloud.chunk_points > 1 ? cloud.chunk_points : kBlockPoints;
    choose_in_blocks(cloud.points, wanted, block, sample_.block_count(block), random, numbers);
  }
  return true;
}

Random FirstDraw::draws(const SampleContext& sample) const {
  return {sample.seed, sample.epoch, sample.draws(), transform_};
}

Random FirstDraw::fill_draws(const SampleContext& sample) const {
  return {sample.seed, sample.epoch, sample.draws(), transform_ ^ kFillDraws};
}

}  // namespace penstock
