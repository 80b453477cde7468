#include <algorithm>
#include <array>
#include <cmath>

#include <bench/synth/picture_writer.hpp>
#include <bench/synth/scene.hpp>
#include <bench/synth/synth_files.hpp>
#include <penstock/geometry.hpp>
#include <penstock/random.hpp>

namespace penstock {
namespace {

constexpr std::uint32_t kImageStream = 16;  // stream number of Random; the planes use lower ones

// Long side by short side in landscape, and the percentage that has it. Most photographs of ImageNet came from cameras
// of 4:3 and 3:2 and were scaled to 500 pixels; a few kept their size.
Size draw_size(Random& random) {
  struct Kind {
    unsigned percent;
    std::int64_t width, height;
  };
  static constexpr std::array<Kind, 7> kinds{
      {{46, 500, 375}, {70, 500, 333}, {76, 400, 300}, {80, 640, 480}, {83, 800, 600}, {85, 1024, 768}, {100, 500, 0}}};
  const std::uint64_t draw = random.below(100);
  const Kind& kind = *std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return draw < k.percent; });
  Size size{kind.width, kind.height};
  if (size.height == 0) size.height = 200 + static_cast<std::int64_t>(random.below(301));
  if (random.uniform() < 0.25) std::swap(size.width, size.height);
  return size;
}

}  // namespace

void synth_images(const std::filesystem::path& destination, const SynthOptions& options,
                  const SynthProgress& progress) {
  const Palette palette = Palette::make(1024, options.seed);
  const auto make = [&](std::uint64_t number, std::uint32_t label) {
    Random random(options.seed, 0, number, kImageStream);
    const Size size = draw_size(random);
    Scene scene{.width = static_cast<std::uint32_t>(size.width),
                .height = static_cast<std::uint32_t>(size.height),
                .label = label,
                .classes = options.classes,
                .grain = random.uniform(4.0, 17.0),
                .contrast = random.uniform(20.0, 45.0),
                .smallest = 1.0 / 25.0,
                .shapes = 8 + static_cast<std::uint32_t>(random.below(25))};
    const double best = std::max(random.uniform(), random.uniform());  // cameras favour the upper end
    const JpegStyle style{.quality = 75 + static_cast<int>(std::lround(20.0 * best)),
                          .grayscale = random.below(100) < 2,
                          .progressive = random.below(100) < 2};
    return encode_jpeg(paint(scene, palette, random), scene.width, scene.height, style);
  };
  synth_files(destination, "jpg", options, make, progress);
}

}  // namespace penstock
