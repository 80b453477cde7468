#include <map>
#include <memory>
#include <optional>
#include <string>

#include <bench/measure/units.hpp>
#include <bench/synth/workload.hpp>
#include <penstock/error.hpp>

#include "command.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct SynthArguments {
  std::string kind, destination;
  std::optional<std::uint64_t> count;
  SynthOptions synth;
  // Of clouds alone.
  std::optional<std::string> points, layout;
  std::optional<unsigned> las_format;
};

const std::map<std::string, CloudLayout> kLayouts{{"trees", CloudLayout::trees}, {"plots", CloudLayout::plots}};

SynthCloudOptions cloud_options(const SynthArguments& options) {
  SynthCloudOptions clouds;
  const std::uint64_t count = options.count.value_or(clouds.files.count);
  clouds.files = options.synth;
  clouds.files.count = count;
  if (options.points) clouds.points = parse_count_range(*options.points);
  if (options.layout) clouds.layout = kLayouts.at(*options.layout);
  if (options.las_format) clouds.las_format = *options.las_format;
  return clouds;
}

int run(SynthArguments options) {
  Progress progress("writing", "files");
  const auto report = [&](std::uint64_t done, std::uint64_t total) { return progress(done, total); };
  if (options.kind == "clouds") {
    synth_clouds(options.destination, cloud_options(options), report);
    return 0;
  }
  if (options.points || options.layout || options.las_format) {
    throw Error::invalid_argument("--points, --layout and --las-format require clouds");
  }
  if (options.count) options.synth.count = *options.count;
  if (options.kind == "images")
    synth_images(options.destination, options.synth, report);
  else
    synth_icons(options.destination, options.synth, report);
  return 0;
}

}  // namespace

Command synth_command(CLI::App& app) {
  const auto options = std::make_shared<SynthArguments>();
  CLI::App* command = app.add_subcommand("synth", "Write realistic file-per-sample data for demos and benchmarks");
  command
      ->add_option("KIND", options->kind,
                   "images: photograph-like JPEGs of about 110 KB; icons: 32 x 32 PNGs; "
                   "clouds: laser scans of trees, LAS files of about 12 MB")
      ->required()
      ->check(CLI::IsMember({"images", "icons", "clouds"}));
  command->add_option("DST", options->destination, "Folder to create; it must be new or empty")->required();
  command->add_option("-n,--count", options->count, "Number of files [2000; clouds: 40]");
  command->add_option("--seed", options->synth.seed, "The same seed gives the same bytes")->capture_default_str();
  command->add_option("--num-classes", options->synth.classes, "Number of class folders")->capture_default_str();
  command->add_option("--workers", options->synth.workers, "Threads; 0: usable cores")->capture_default_str();
  command->add_option("--points", options->points, "Points per cloud: a number or a range [200k-600k]");
  command
      ->add_option(
          "--layout", options->layout,
          "trees: single trees, with the species as class; plots: stands, with the main species as class [trees]")
      ->check(CLI::IsMember({"trees", "plots"}));
  command->add_option("--las-format", options->las_format, "Point format of clouds: 0 to 3, 6 or 7 [6]");
  command->footer(
      "Examples:\n  penstock synth images photos -n 2000\n  penstock synth icons icons -n 20000 --seed 7\n"
      "  penstock synth clouds trees -n 200 --num-classes 6 --points 50k\n"
      "  penstock synth clouds plots --layout plots --points 1M-4M --las-format 7");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
