#include <bench/synth/picture_writer.hpp>
#include <bench/synth/scene.hpp>
#include <bench/synth/synth_files.hpp>
#include <penstock/random.hpp>

namespace penstock {
namespace {

constexpr std::uint32_t kIconStream = 17;  // stream number of Random

}  // namespace

void synth_icons(const std::filesystem::path& destination, const SynthOptions& options, const SynthProgress& progress) {
  const Palette palette = Palette::make(256, options.seed);
  const auto make = [&](std::uint64_t number, std::uint32_t label) {
    Random random(options.seed, 0, number, kIconStream);
    const Scene scene{.width = 32,
                      .height = 32,
                      .label = label,
                      .classes = options.classes,
                      .grain = random.uniform(1.0, 5.0),
                      .contrast = random.uniform(12.0, 30.0),
                      .smallest = 1.0 / 6.0,
                      .shapes = 3 + static_cast<std::uint32_t>(random.below(4))};
    return encode_png(paint(scene, palette, random), scene.width, scene.height);
  };
  synth_files(destination, "png", options, make, progress);
}

}  // namespace penstock
