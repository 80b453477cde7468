#include <charconv>
#include <cstdio>
#include <memory>
#include <string>

#include <bench/measure/dataset_summary.hpp>
#include <bench/measure/units.hpp>
#include <formats/format.hpp>
#include <formats/labels/emptiness.hpp>
#include <formats/layout_line.hpp>
#include <formats/places/address.hpp>
#include <loader/options/distributed_env.hpp>
#include <pack/pack_source.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/pack.hpp>
#include <transforms/recode/cloud_recoder.hpp>
#include <transforms/recode/jpeg_recoder.hpp>
#include <transforms/recode/pixel_recoder.hpp>

#include "classes.hpp"
#include "command.hpp"
#include "open.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct PackArguments {
  std::string source, destination, shard_size = "256MiB", align = "1", classes, on_error = "raise";
  std::string rank;  // a number, or "env"
  std::string jpeg = "keep", presample, order = "keep", attributes = "none";
  std::int64_t max_side = 0;
  CLI::Option* decode = nullptr;
  std::string decode_size;
  std::string temp_dir;  // a folder for what is unpacked first
  ConvertOptions convert;
  OpenOptions open;
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
  throw Error::invalid_argument("--rank is a number or env, not " + text);
}

// Sets rank and world, and returns what progress is called.
std::string set_rank(ConvertOptions& convert, const std::string& rank) {
  if (rank.empty()) {
    if (convert.world != 0) throw Error::invalid_argument("--world needs --rank");
    return "packing";
  }
  if (rank == "env") {
    if (convert.world != 0) throw Error::invalid_argument("--rank env takes world from the environment too");
    const RankAndWorld found = rank_from_environment();
    convert.rank = found.rank;
    convert.world = found.world;
  } else {
    convert.rank = rank_number(rank);
    if (convert.world == 0) throw Error::invalid_argument("--rank needs --world, the number of ranks");
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
                     bytes_text(joined.bytes) + ", " + with_commas(joined.shards) + " shards";
  if (joined.skipped > 0) text += ", " + with_commas(joined.skipped) + " bad ones skipped";
  std::fprintf(stderr, "%s\n", text.c_str());
  return 0;
}

void require(const std::string& value, const char* name) {
  if (value.empty()) throw CLI::RequiredError(name);
}

PixelRecoding pixels_of(const PackArguments& options) {
  if (options.decode->count() == 0) return {};
  return pixel_recoding(options.decode_size.empty() ? "same" : options.decode_size);
}

// What is compressed as a whole is unpacked.
PackSource unpack(const PackArguments& arguments, const ConvertOptions& options) {
  Progress progress("unpacking", Progress::kBytes);
  const auto tell = [&](std::uint64_t done, std::uint64_t total) { return progress(done, total, done); };
  return PackSource(arguments.source, arguments.destination, options, arguments.temp_dir, tell);
}

// An interruption says, in the words of this command, what goes on with it.
ConvertResult convert_telling(const PackSource& source, const Dataset& dataset, const PackArguments& arguments,
                              const ConvertOptions& options, const std::string& doing) {
  try {
    Progress progress(doing, "samples");
    return convert(dataset, arguments.destination, source.options(options),
                   [&](const ConvertProgress& now) { return progress(now.samples, now.total_samples, now.bytes); });
  } catch (const Error& error) {
    if (!error.cause().starts_with("interrupted")) throw source.named(error);
    throw Error::resource("interrupted; the same command with --resume goes on after the last whole shard");
  }
}

int run(const PackArguments& options) {
  require(options.source, "SRC");
  require(options.destination, "DST");
  ConvertOptions convert_options = options.convert;
  const std::string doing = set_rank(convert_options, options.rank);
  convert_options.shard_size = parse_size(options.shard_size);
  convert_options.align = parse_size(options.align);
  convert_options.spool = options.temp_dir;
  convert_options.recoding = {.jpeg = jpeg_recoding(options.jpeg, options.max_side),
                              .clouds = cloud_recoding(options.presample, options.order, options.attributes),
                              .pixels = pixels_of(options)};
  convert_options.on_error = options.on_error == "skip" ? PackOnError::skip : PackOnError::raise;
  if (!options.classes.empty()) convert_options.classes = read_classes(options.classes);
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
    std::fprintf(stderr, "penstock: shards share keys, so each key has the name of its shard in front: %s\n",
                 result.renamed_key.c_str());
  std::string text = "penstock: " + shown_place(options.destination) + ": ";
  if (convert_options.world != 0) {
    text += "rank " + std::to_string(convert_options.rank) + " of " + std::to_string(convert_options.world) + ": ";
  }
  text += with_commas(result.resumed + result.samples) + " samples, " + bytes_text(result.bytes);
  if (result.resumed > 0) text += ", " + with_commas(result.resumed) + " of them from the interrupted run";
  if (result.skipped > 0) text += ", " + with_commas(result.skipped) + " bad ones skipped";
  std::fprintf(stderr, "%s\n", text.c_str());
  return 0;
}

}  // namespace

Command pack_command(CLI::App& app) {
  const auto options = std::make_shared<PackArguments>();
  CLI::App* command = app.add_subcommand("pack", "Pack a dataset into shards that load fast and open everywhere");
  command->add_option("SRC", options->source, "Dataset of any format, also of whole-file gzip, or a folder of files");
  command->add_option("DST", options->destination,
                      "Folder to make, or address (s3://, gs://, az://); it appears once complete");
  command->add_option("--format", options->convert.format, "Format to write")
      ->check(written_format())
      ->capture_default_str();
  add_open_options(*command, options->open);
  command->add_option("--labels", options->convert.labels, "FILE or FILE:COLUMN: labels kept apart, csv, txt or json");
  command->add_option("--classes", options->classes, "FILE of class names, one a line, or a DATASET, to number by");
  command->add_option("--shard-size", options->shard_size, "Bytes after which a new shard begins")
      ->capture_default_str();
  command->add_option("--align", options->align, "Samples begin at a multiple of this (tar, zip; 4096 suits O_DIRECT)")
      ->capture_default_str();
  command
      ->add_option(
          "--jpeg", options->jpeg,
          "keep; recode: identical pixels, decoded about twice as fast, and the files can be had back; original: the "
          "files\n"
          "back; baseline: progressive files lose nothing and decode twice as fast; quality:Q: compressed again")
      ->capture_default_str();
  command
      ->add_option("--max-side", options->max_side,
                   "Shrink JPEG files whose longer side has more pixels (quality 90, or --jpeg's); 0: none")
      ->capture_default_str();
  options->decode =
      command
          ->add_option(
              "--decode", options->decode_size,
              "Store pixels, uint8, in place of encoded images. 224, HEIGHTxWIDTH: resized to cover that, and the\n"
              "middle cut out; same (or nothing): images of one size, as they are. FIELD=SIZE names the field")
          ->expected(0, 1)
          ->option_text("SIZE");
  command->add_option(
      "--presample", options->presample,
      "Keep so many points of each cloud: fps:4096, random:N, stratified:N, inverse_density:N, or what\n"
      "voxel:SIZE or poisson:SIZE leaves; several, in turn, with commas between");
  command
      ->add_option("--point-order", options->order,
                   "Of points. progressive: any run of them is a random sample, so a loader reads only as many as it\n"
                   "delivers; stratified: any run covers the cloud evenly")
      ->check(CLI::IsMember({"keep", "progressive", "stratified"}))
      ->capture_default_str();
  command
      ->add_option(
          "--point-attributes", options->attributes,
          "Attributes that --presample and --point-order keep beside x, y, z: none, all, or names with commas\n"
          "between, such as classification,intensity")
      ->capture_default_str();
  command->add_option("--workers", options->convert.workers, "Threads; 0: usable cores")->capture_default_str();
  command
      ->add_option("--on-error", options->on_error, "raise ends at the first bad sample, skip names and leaves it out")
      ->check(CLI::IsMember({"raise", "skip"}))
      ->capture_default_str();
  command->add_option("--temp-dir", options->temp_dir,
                      "Folder for the unpacked bytes of files compressed as a whole (x.tar.gz), default: beside DST; "
                      "and for shards on\n"
                      "their way to a store, default: $TMPDIR");
  command->add_option("--report", options->convert.report, "FILE for the skipped samples, a line of JSON each");
  command->add_option("--rank", options->rank,
                      "Pack one of several parts: a number from 0 on, or env: as torchrun, mpirun or srun tells");
  command->add_option("--world", options->convert.world, "Number of parts");
  command->add_flag("--resume", options->convert.resume, "Continue an interrupted run after its last whole shard");
  command->add_flag("--overwrite", options->convert.overwrite,
                    "Replace DST once the new dataset is complete; at an address at once");
  command->footer(
      "Examples:\n"
      "  penstock pack photos train.tar.d\n"
      "  penstock pack photos train.lmdb.d --format lmdb --labels labels.csv:label --on-error skip\n"
      "  penstock pack photos train.tar.d --resume     after a crash or Ctrl-C\n"
      "  penstock pack photos s3://bucket/train        shards are sent as they are written\n"
      "  penstock pack 'train-{000..007}.tar.gz' train.tar.d     unpacked first, into a hidden folder\n"
      "  penstock pack photos train.d --format hdf5 --decode 256        pixels, to be cropped to 224 in training\n"
      "  penstock pack trees train.tar.d --point-order progressive --point-attributes classification\n"
      "  mpirun penstock pack photos train.tar.d --rank env --resume && \\\n"
      "    penstock pack-join train.tar.d           packed by several processes, on one or many machines");
  return {command, [options] { return run(*options); }};
}

Command pack_join_command(CLI::App& app) {
  const auto options = std::make_shared<JoinArguments>();
  CLI::App* command = app.add_subcommand("pack-join", "Join the parts that several ranks packed: DST appears");
  command->add_option("DST", options->destination, "Destination of `penstock pack --rank`")->required();
  command->add_option("--report", options->finish.report,
                      "FILE for the skipped samples of all parts, a line of JSON each");
  command->add_flag("--overwrite", options->finish.overwrite, "Replace DST once the new dataset is complete");
  command->footer(
      "Example:\n"
      "  penstock pack-join train.tar.d       after every rank of `penstock pack --rank` has ended");
  return {command, [options] { return join(*options); }};
}

}  // namespace penstock::cli
