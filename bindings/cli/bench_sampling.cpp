#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include <bench/measure/sampling.hpp>
#include <penstock/error.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct BenchSamplingArguments {
  std::string dataset, scratch, json, html;
  SamplingOptions sampling;
  OpenOptions open;
};

/// A folder that is gone with everything in it at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "penstock-sampling-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw Error::io(errno, "cannot make " + path);
    path_ = path;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(ScratchFolder&&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

SamplingReport compare(const BenchSamplingArguments& options) {
  std::optional<ScratchFolder> own;
  SamplingOptions sampling = options.sampling;
  sampling.scratch = options.scratch.empty() ? own.emplace().path() : std::filesystem::path(options.scratch);
  std::string doing;
  std::optional<Progress> progress;
  sampling.progress = [&](const std::string& what, std::uint64_t done, std::uint64_t total) {
    if (total == 0) return !interrupted();
    if (doing != what) progress.emplace(doing = what, "steps");
    return (*progress)(done, total);
  };
  const Dataset clouds = open_with_progress(options.dataset, options.open);
  return compare_sampling(clouds, sampling);
}

int run(const BenchSamplingArguments& options) {
  require_writable({options.json, options.html});
  const SamplingReport report = compare(options);
  if (options.json != "-" && options.html != "-") print(to_text(report));
  if (!options.json.empty()) write_report(options.json, to_json(report));
  if (!options.html.empty()) write_report(options.html, to_html(report));
  return 0;
}

}  // namespace

Command bench_sampling_command(CLI::App& app) {
  const auto options = std::make_shared<BenchSamplingArguments>();
  CLI::App* command =
      app.add_subcommand("bench-sampling", "Compare ways to sample points of each cloud: time, bytes read, coverage");
  command->add_option("DATASET", options->dataset, "Point clouds: a folder of files or packed shards")->required();
  command->add_option("--points", options->sampling.points, "Points sampled from each cloud")->capture_default_str();
  command->add_option("--field", options->sampling.field, "Field that contains the clouds; by default the first one");
  command->add_option("--seconds", options->sampling.seconds, "Seconds to measure each way")->capture_default_str();
  command->add_option("--coverage-clouds", options->sampling.compared, "Number of clouds whose coverage is computed")
      ->capture_default_str();
  command->add_option("--seed", options->sampling.seed, "Seed of the random points")->capture_default_str();
  command->add_option("--scratch", options->scratch,
                      "Folder to keep the packed clouds in; by default a temporary one that is removed");
  command->add_option("--json", options->json, "Write the report as JSON to this file; - for stdout");
  command->add_option("--html", options->html, "Write the report to this file as one HTML page with pictures");
  add_open_options(*command, options->open);
  command->footer(
      "Examples:\n  penstock synth clouds trees && penstock bench-sampling trees --html sampling.html\n"
      "  penstock bench-sampling plots.tar.d --points 16384 --seconds 10");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
