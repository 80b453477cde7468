#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <overview/overview.hpp>
#include <penstock/error.hpp>

#include "command.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct OverviewArguments {
  std::vector<std::string> traces;
  std::string html, json;
  bool no_html = false;
};

/// In the current folder: "overview.html" for several traces; "trace.overview.html" for DIR/trace.json.gz and for
/// DIR/trace.pt.trace.json.
std::string default_page(const std::vector<std::string>& traces) {
  if (traces.size() > 1) return "overview.html";
  std::filesystem::path name = std::filesystem::path(traces.front()).filename();
  for (const char* ending : {".gz", ".json", ".trace", ".pt"}) {
    if (name.extension() == ending && name.has_stem()) name = name.stem();
  }
  return name.string() + ".overview.html";
}

/// A trace may come from an expensive run. Throws Error: invalid_argument, if the report would replace one.
void require_no_trace(const std::string& report, const std::vector<std::string>& traces) {
  for (const std::string& trace : traces) {
    std::error_code unknown;
    if (!std::filesystem::equivalent(report, trace, unknown)) continue;
    throw Error::invalid_argument(report + " is one of the traces or reports to read; name another file");
  }
}

int run(const OverviewArguments& options) {
  const std::string page = options.no_html ? "" : options.html.empty() ? default_page(options.traces) : options.html;
  require_writable({page, options.json});
  for (const std::string& report : {page, options.json}) require_no_trace(report, options.traces);
  Progress progress("reading", Progress::kBytes);
  const overview::Overview found =
      overview::overview_of(std::vector<std::filesystem::path>(options.traces.begin(), options.traces.end()),
                            [&](std::uint64_t read, std::uint64_t of) { return progress(read, of); });
  if (options.json != "-" && page != "-") print(to_text(found));
  if (!options.json.empty()) write_report(options.json, to_json(found));
  if (page.empty()) return 0;
  write_report(page, to_html(found));
  if (page != "-" && options.json != "-") print("Page: " + page + "\n");
  return 0;
}

}  // namespace

Command overview_command(CLI::App& app) {
  const auto options = std::make_shared<OverviewArguments>();
  CLI::App* command = app.add_subcommand(
      "overview", "Explain where a training loses time, from traces of the PyTorch profiler, or compare two runs");
  command
      ->add_option(
          "TRACE", options->traces,
          "Trace of torch.profiler, .json or .json.gz; two runs, or one for each rank; or two JSON reports of penstock "
          "run, or of bench and tune")
      ->required();
  const auto html = command->add_option("--html", options->html,
                                        "Write the page to this file; by default, NAME.overview.html in the current "
                                        "folder, or overview.html for several traces");
  command->add_flag("--no-html", options->no_html, "Write no page")->excludes(html);
  command->add_option("--json", options->json, "Write all figures as JSON to this file; - for stdout");
  command->footer(
      "The step time is split into Kernel, Memcpy, Memset, Communication, Runtime, DataLoader, CPU Exec and Other.\n"
      "A moment that several categories cover counts for the first of them.\n"
      "Examples:\n"
      "  penstock overview trace.json.gz\n"
      "  penstock overview before.json after.json           the changes, beside the noise\n"
      "  penstock overview rank*.json --html ranks.html     ranks of one training side by side");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
