#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <bench/measure/dataset_summary.hpp>
#include <bench/measure/units.hpp>
#include <formats/labels/emptiness.hpp>
#include <formats/layout_line.hpp>
#include <formats/places/address.hpp>
#include <loader/options/distributed_env.hpp>
#include <pack/pack_source.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/pack.hpp>

#include "classes.hpp"
#include "command.hpp"
#include "open.hpp"
#include "option_flags.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct PackArguments {
  std::string source, destination;
  std::map<std::string_view, std::string> by_hand;  // "rank": a number, or "env"; "classes": a file or a dataset
  ConvertOptions convert;
  OpenOptions open;
};

void report_bad(const ConvertResult& result) {
  for (const BadSample& bad : result.bad)
    std::fprintf(stderr, "penstock: skipped %s: field %s: %s\n", bad.key.c_str(), bad.field.c_str(), bad.cause.c_str());
  if (result.skipped > result.bad.size())
    std::fprintf(stderr, "penstock: skipped %s more\n", with_commas(result.skipped - result.bad.size()).c_str());
}

void report_left_out(const Dataset& source, bool labels_apart) {
  for (const std::string& warning : warnings_of(source))
    std::fprintf(stderr, "penstock: warning: %s: %s\n", shown_place(source.path()).c_str(), warning.c_str());
  for (const auto& [what, why] : left_out(source))
    std::fprintf(stderr, "penstock: left out %s: %s\n", what.c_str(), why.c_str());
  if (const std::string why = no_classes(source); !why.empty() && !labels_apart)
    std::fprintf(stderr, "penstock: no classes: %s\n", why.c_str());
}

void report_kept(const ConvertResult& result) {
  for (const auto& [reason, count] : result.kept)
    std::fprintf(stderr, "penstock: %s kept as JPEG: %s\n", with_commas(count).c_str(), reason.c_str());
}

std::uint32_t rank_number(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc() && end == text.data() + text.size()) return number;
  throw Error::invalid_argument("--rank must be a number or env, not " + text);
}

// Sets rank and world, and returns what progress is called.
std::string set_rank(ConvertOptions& convert, const std::string& rank) {
  if (rank.empty()) {
    if (convert.world != 0) throw Error::invalid_argument("--world requires --rank");
    return "packing";
  }
  if (rank == "env") {
    if (convert.world != 0)
      throw Error::invalid_argument("--rank env cannot be combined with --world: the environment defines both");
    const RankAndWorld found = rank_from_environment();
    convert.rank = found.rank;
    convert.world = found.world;
  } else {
    convert.rank = rank_number(rank);
    if (convert.world == 0) throw Error::invalid_argument("--rank requires --world, the number of ranks");
  }
  return "packing rank " + std::to_string(convert.rank) + " of " + std::to_string(convert.world);
}

struct JoinArguments {
  std::string destination;
  FinishOptions finish;
};

int join(const JoinArguments& options) {
  const JoinedDataset joined = finish_convert(options.destination, options.finish);
  std::string text = "penstock: " + options.destination + ": " + with_commas(joined.samples) + " samples, " +
                     bytes_text(joined.bytes) + ", " + with_commas(joined.shards) +
                     (joined.shards == 1 ? " shard" : " shards");
  if (joined.skipped > 0) text += ", " + with_commas(joined.skipped) + " invalid samples skipped";
  std::fprintf(stderr, "%s\n", text.c_str());
  return 0;
}

void require(const std::string& value, const char* name) {
  if (value.empty()) throw CLI::RequiredError(name);
}

// Decompresses sources that are compressed as a whole.
PackSource unpack(const PackArguments& arguments, const ConvertOptions& options) {
  Progress progress("unpacking", Progress::kBytes);
  const auto tell = [&](std::uint64_t done, std::uint64_t total) { return progress(done, total, done); };
  return PackSource(arguments.source, arguments.destination, options, tell);
}

// Names the option of this command that resumes, if packing is interrupted.
ConvertResult convert_telling(const PackSource& source, const Dataset& dataset, const PackArguments& arguments,
                              const ConvertOptions& options, const std::string& doing) {
  try {
    Progress progress(doing, "samples");
    return convert(dataset, arguments.destination, source.options(options),
                   [&](const ConvertProgress& now) { return progress(now.samples, now.total_samples, now.bytes); });
  } catch (const Error& error) {
    if (!error.cause().starts_with("interrupted")) throw source.named(error);
    throw Error::resource("interrupted; the same command with --resume resumes after the last complete shard");
  }
}

int run(const PackArguments& options) {
  require(options.source, "SRC");
  require(options.destination, "DST");
  ConvertOptions convert_options = options.convert;
  const auto given = [&](std::string_view name) { return options.by_hand.at(name); };
  const std::string doing = set_rank(convert_options, given("rank"));
  if (!given("classes").empty()) convert_options.classes = read_classes(given("classes"));
  const PackSource source = unpack(options, convert_options);
  const Dataset dataset =
      open_quietly([&](const OpenProgress& progress) { return source.open(options.open, progress); });
  try {
    require_something_to_pack(dataset);
  } catch (const Error& error) {
    throw OpenFailure(source.named(error));
  }
  report_left_out(dataset, !options.convert.labels.empty());
  const ConvertResult result = convert_telling(source, dataset, options, convert_options, doing);
  report_bad(result);
  report_kept(result);
  if (!result.renamed_key.empty())
    std::fprintf(stderr,
                 "penstock: shards have the same keys, so the name of the shard was added in front of each key: %s\n",
                 result.renamed_key.c_str());
  std::string text = "penstock: " + shown_place(options.destination) + ": ";
  if (convert_options.world != 0) {
    text += "rank " + std::to_string(convert_options.rank) + " of " + std::to_string(convert_options.world) + ": ";
  }
  text += with_commas(result.resumed + result.samples) + " samples, " + bytes_text(result.bytes);
  if (result.resumed > 0) text += ", " + with_commas(result.resumed) + " of them from the interrupted run";
  if (result.skipped > 0) text += ", " + with_commas(result.skipped) + " invalid samples skipped";
  if (convert_options.world != 0 && result.resumed + result.samples + result.skipped == 0)
    text += "; the dataset has fewer shards than ranks: a smaller --shard-size gives each rank some";
  std::fprintf(stderr, "%s\n", text.c_str());
  return 0;
}

}  // namespace

Command pack_command(CLI::App& app) {
  const auto options = std::make_shared<PackArguments>();
  CLI::App* command = app.add_subcommand("pack", "Pack a dataset into shards that load fast and open everywhere");
  command->add_option("SRC", options->source,
                      "Dataset of any format, also compressed as a whole (.gz), or a folder of files");
  command->add_option("DST", options->destination,
                      "Folder to create, or address (s3://, gs://, az://); it appears when it is complete");
  add_pack_flags(*command, options->convert, options->by_hand);
  add_open_options(*command, options->open);
  command->footer(
      "Examples:\n"
      "  penstock pack photos train.tar.d\n"
      "  penstock pack photos train.lmdb.d --format lmdb --labels labels.csv:label --on-error skip\n"
      "  penstock pack photos train.tar.d --resume     after a crash or Ctrl-C\n"
      "  penstock pack photos s3://bucket/train        each shard is uploaded while it is written\n"
      "  penstock pack 'train-{000..007}.tar.gz' train.tar.d     decompressed first, into a hidden folder\n"
      "  penstock pack photos train.d --format hdf5 --decode 256        pixels, to be cropped to 224 in training\n"
      "  penstock pack trees train.tar.d --point-order progressive --point-attributes classification\n"
      "  mpirun penstock pack photos train.tar.d --rank env --resume && \\\n"
      "    penstock pack-join train.tar.d           packed by several processes, on one or many machines");
  return {command, [options] { return run(*options); }};
}

Command pack_join_command(CLI::App& app) {
  const auto options = std::make_shared<JoinArguments>();
  CLI::App* command = app.add_subcommand("pack-join", "Join the parts that several ranks packed; DST then appears");
  command->add_option("DST", options->destination, "Destination of `penstock pack --rank`")->required();
  command->add_option("--report", options->finish.report,
                      "FILE for the skipped samples of all parts, one line of JSON each");
  command->add_flag("--overwrite", options->finish.overwrite, "Replace DST once the new dataset is complete");
  command->footer(
      "Example:\n"
      "  penstock pack-join train.tar.d       after every rank of `penstock pack --rank` has ended");
  return {command, [options] { return join(*options); }};
}

}  // namespace penstock::cli
