#include <cstdio>
#include <memory>
#include <string>

#include <penstock/bench/units.hpp>
#include <penstock/formats/dataset.hpp>
#include <penstock/formats/format.hpp>
#include <penstock/loader/convert.hpp>

#include "classes.hpp"
#include "command.hpp"
#include "open.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct Options {
  std::string source, destination, shard_size = "256MiB", align = "1", classes, on_error = "raise";
  ConvertOptions convert;
};

CLI::Validator written_format() {
  std::vector<std::string> names;
  for (const Format& format : formats())
    if (format.write != nullptr) names.emplace_back(format.name);
  return CLI::IsMember(names);
}

void report_bad(const ConvertResult& result) {
  for (const BadSample& bad : result.bad)
    std::fprintf(stderr, "penstock: skipped %s: field %s: %s\n", bad.key.c_str(), bad.field.c_str(), bad.cause.c_str());
  if (result.skipped > result.bad.size())
    std::fprintf(stderr, "penstock: skipped %s more\n", with_commas(result.skipped - result.bad.size()).c_str());
}

int run(const Options& options) {
  ConvertOptions convert_options = options.convert;
  convert_options.shard_size = parse_size(options.shard_size);
  convert_options.align = parse_size(options.align);
  convert_options.skip_bad = options.on_error == "skip";
  if (!options.classes.empty()) convert_options.classes = read_classes(options.classes);
  const Dataset source = open_with_progress(options.source);
  ConvertResult result;
  {
    Progress progress("packing", "samples");
    result = convert(source, options.destination, convert_options,
                     [&](const ConvertProgress& now) { return progress(now.samples, now.total_samples, now.bytes); });
  }
  report_bad(result);
  std::string text = "penstock: " + options.destination + ": " + with_commas(result.resumed + result.samples) +
                     " samples, " + bytes_text(result.bytes);
  if (result.resumed > 0) text += ", " + with_commas(result.resumed) + " of them from the interrupted run";
  if (result.skipped > 0) text += ", " + with_commas(result.skipped) + " bad ones skipped";
  std::fprintf(stderr, "%s\n", text.c_str());
  return 0;
}

}  // namespace

Command pack_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("pack", "Pack a dataset into shards that load fast and open everywhere");
  command->add_option("SRC", options->source, "Dataset of any packing, or a folder of files")->required();
  command->add_option("DST", options->destination, "Folder to make; it appears once complete")->required();
  command->add_option("--format", options->convert.format, "Packing to write")->required()->check(written_format());
  command->add_option("--labels", options->convert.labels, "FILE or FILE:COLUMN: labels kept apart, csv, txt or json");
  command->add_option("--classes", options->classes, "FILE of class names, one a line, or a DATASET, to number by");
  command->add_option("--shard-size", options->shard_size, "Bytes after which a new shard begins")
      ->capture_default_str();
  command->add_option("--align", options->align, "Samples begin at a multiple of this (tar; 4096 suits O_DIRECT)")
      ->capture_default_str();
  command->add_option("--workers", options->convert.workers, "Threads; 0: usable cores")->capture_default_str();
  command
      ->add_option("--on-error", options->on_error, "raise ends at the first bad sample, skip names and leaves it out")
      ->check(CLI::IsMember({"raise", "skip"}))
      ->capture_default_str();
  command->add_flag("--resume", options->convert.resume, "Continue an interrupted run after its last whole shard");
  command->add_flag("--overwrite", options->convert.overwrite, "Replace DST once the new dataset is complete");
  command->footer(
      "Examples:\n"
      "  penstock pack photos train.tar.d --format tar\n"
      "  penstock pack photos train.lmdb.d --format lmdb --labels labels.csv:label --on-error skip\n"
      "  penstock pack photos train.tar.d --format tar --resume     after a crash or Ctrl-C");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
