#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <bench/measure/units.hpp>
#include <formats/places/address.hpp>
#include <penstock/verify.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct VerifyArguments {
  std::string dataset, against;
  unsigned workers = 0;
  bool decode = false;
  OpenOptions open;
};

std::string line_of(const BadValue& bad) {
  if (bad.key.empty()) return bad.cause + "\n";
  return bad.key + (bad.field.empty() ? "" : "." + bad.field) + ": " + bad.cause + "\n";
}

int run(const VerifyArguments& options) {
  const Dataset dataset = open_with_progress(options.dataset, options.open);
  std::optional<Dataset> source;
  if (!options.against.empty()) source = open_with_progress(options.against);
  VerifyResult result;
  {
    Progress progress("verifying", "parts");
    result =
        verify(dataset, {.against = source ? &*source : nullptr, .decode = options.decode, .workers = options.workers},
               [&](std::uint64_t done, std::uint64_t total) { return progress(done, total); });
  }
  for (const BadValue& bad : result.bad) print(line_of(bad));
  if (result.bad_count > result.bad.size())
    print("and " + with_commas(result.bad_count - result.bad.size()) + " more\n");
  std::string text = shown_place(options.dataset) + ": " + with_commas(result.samples) + " samples, " +
                     with_commas(result.values) + " values, " + bytes_text(result.bytes) + " read; CRC-32C of " +
                     with_commas(result.checked) + " values";
  if (result.ranges_checked > 0) text += ", of " + with_commas(result.ranges_checked) + " ranges of values";
  if (result.shards_checked > 0) text += " and of " + with_commas(result.shards_checked) + " shards";
  if (result.indexes_compared > 0)
    text += "; the index of " + with_commas(result.indexes_compared) +
            (result.indexes_compared == 1 ? " shard" : " shards") + " compared with the files";
  if (source) text += "; " + with_commas(result.compared) + " values compared with " + shown_place(options.against);
  if (options.decode)
    text += "; " + with_commas(result.decoded) + " images, clouds and arrays decoded";
  else if (!dataset.packed())
    text += "; nothing decoded (--decode checks images, clouds and arrays)";
  if (result.bad_count == 0) {
    print(text + ": good\n");
    return 0;
  }
  print(text + "\n");
  std::fprintf(stderr, "penstock: error: %s: %s bad\n", shown_place(options.dataset).c_str(),
               with_commas(result.bad_count).c_str());
  return 1;
}

}  // namespace

Command verify_command(CLI::App& app) {
  const auto options = std::make_shared<VerifyArguments>();
  CLI::App* command =
      app.add_subcommand("verify", "Read all values, check checksums, and compare values with their source");
  command->add_option("DATASET", options->dataset, "Dataset of any format, or a folder of files")->required();
  command->add_option("--against", options->against, "Source that every value must equal; samples are matched by key");
  command->add_flag("--decode", options->decode,
                    "Also decode images, point clouds and .npy arrays, which finds damaged files without a checksum");
  command
      ->add_option("--workers", options->workers, "Threads; 0: usable cores, but at least 16 for a dataset in a store")
      ->capture_default_str();
  add_open_options(*command, options->open);
  command->footer(
      "Examples:\n  penstock verify train.tar.d\n  penstock verify train.tar.d --against photos\n  penstock "
      "verify photos --decode\n"
      "Each bad value has its own line. Any bad value makes the exit code 1.");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
