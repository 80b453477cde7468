#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <bench/measure/row_view.hpp>
#include <bench/measure/task.hpp>
#include <bench/measure/units.hpp>
#include <bench/synth/picture_writer.hpp>
#include <formats/encodings.hpp>
#include <formats/field_types.hpp>
#include <loader/work/batch_mixer.hpp>
#include <order/selection.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <transforms/chain/window.hpp>

#include "command.hpp"
#include "draw_arguments.hpp"
#include "length_options.hpp"
#include "open.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

constexpr std::uint32_t kTerminalColumns = 64;

struct InspectArguments {
  std::string dataset, task, state, picture, last = "keep";
  OpenOptions open;
  std::vector<std::string> fields, mixes;
  std::uint64_t seed = 0, epoch = 0, batch = 0, shuffle_block = 0;
  std::uint32_t row = 0, batch_size = 64, rank = 0, world = 1;
  bool shuffle = LoaderOptions().shuffle, block_given = false;
  DrawArguments drawing;
  LengthOptions buckets;
};

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file.is_open()) throw Error::io(errno, "cannot read " + path);
  return text;
}

FieldChain parse_field(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::size_t last = name.find_last_not_of(' ');
  if (last == std::string::npos) throw Error::invalid_argument("--fields \"" + text + "\" is not NAME=CHAIN");
  return {name.substr(0, last + 1), parse_chain(equals == std::string::npos ? "" : text.substr(equals + 1))};
}

// The chains in a version such as "transforms 1; jpeg 1; jpg = image.resize(256); cls = label(); mix: ...".
std::vector<FieldChain> chains_of(const std::string& version) {
  std::vector<FieldChain> chains;
  for (std::size_t at = 0; at < version.size();) {
    const std::size_t end = std::min(version.find("; ", at), version.size());
    const std::string part = version.substr(at, end - at);
    if (part.find(" = ") != std::string::npos) chains.push_back(parse_field(part));
    at = end + 2;
  }
  return chains;
}

Last last_of(const std::string& given) {
  for (const Last last : {Last::drop, Last::pad})
    if (given == name(last)) return last;
  return Last::keep;
}

struct Wanted {
  LoaderOptions options;
  std::uint64_t epoch, batch;
  std::optional<std::uint64_t> subset = std::nullopt;  // the number of samples with windows, in a saved state
};

Wanted wanted_of(const InspectArguments& given, const Dataset& dataset, std::shared_ptr<const Mixture> mixture) {
  Wanted wanted{.options = {.batch_size = given.batch_size,
                            .shuffle = given.shuffle,
                            .seed = given.seed,
                            .workers = 1,
                            .prefetch = 1,
                            .last_batch = last_of(given.last),
                            .rank = given.rank,
                            .world_size = given.world},
                .epoch = given.epoch,
                .batch = given.batch};
  if (given.block_given) wanted.options.shuffle_block = given.shuffle_block;
  wanted.options.sampler = given.drawing.draws(dataset);
  wanted.options.mixture = mixture;
  wanted.options.shuffle_window = given.drawing.shuffle_window;
  LengthOptions buckets = given.buckets;
  if (!given.state.empty()) {
    const LoaderState state = LoaderState::from_json(file_text(given.state));
    if (state.mixture.has_value() != (mixture != nullptr))
      throw Error::invalid_argument(
          given.state + (mixture != nullptr
                             ? ": the state is of one dataset, not of a mixture"
                             : ": the state is of a mixture; pass the file of the mixture instead of a dataset"));
    if (state.mixture && state.mixture->since != 0)
      throw Error::invalid_argument(given.state +
                                    ": its mixture continues an earlier one, which inspect does not support");
    if (state.start != 0)
      throw Error::invalid_argument(given.state + ": its epoch was continued with another world or batch size");
    if (state.buckets) {
      if (state.buckets->limits.batch_size != state.batch_size || state.buckets->limits.world != state.world)
        throw Error::invalid_argument(given.state + ": its epoch was continued with another world or batch size");
      if (state.buckets->by.empty())
        throw Error::invalid_argument(
            given.state + ": its batches depend on lengths given by the program, which a state does not contain");
      buckets = {.by = state.buckets->by, .window = state.buckets->window, .budget = state.buckets->limits.budget};
    }
    wanted.options.seed = state.seed;
    wanted.options.batch_size = state.batch_size;
    wanted.options.world_size = state.world;
    wanted.options.transforms = chains_of(state.transforms);
    wanted.options.mix = mixes_of(state.transforms);
    wanted.epoch = state.epoch;
    wanted.batch = state.batch;
    if (state.order) {
      if (state.order->subset && windows_of(wanted.options.transforms).empty())
        throw Error::invalid_argument(given.state + ": it was saved with a subset, which a state does not contain");
      if (state.order->draws && wanted.options.sampler == nullptr)
        throw Error::invalid_argument(
            given.state +
            ": it was saved with weights, repeats or balance, which a state does not contain; "
            "pass --weights, --repeats or --balance");
      wanted.options.shuffle_window = state.order->shuffle_window;
      wanted.subset = state.order->subset;
      wanted.options.shuffle = state.order->shuffle;
      wanted.options.last_batch = state.order->last;
    }
    if (!given.block_given) {
      wanted.options.shuffle_block = state.order ? state.order->shuffle_block : block_of_version_1(dataset);
    }
  }
  wanted.options.batching = buckets.made(dataset);
  for (const std::string& field : given.fields) wanted.options.transforms.push_back(parse_field(field));
  for (const std::string& mix : given.mixes) wanted.options.mix.push_back(parse_mix(mix));
  if (wanted.options.transforms.empty()) {
    Task task = given.task.empty() ? guess_task(dataset) : task_named(given.task, dataset);
    if (wanted.options.mixture != nullptr) keep_common_fields(task, *wanted.options.mixture);
    wanted.options.transforms = task.fields;
  }
  return wanted;
}

std::string line(const std::string& name, const std::string& text) {
  std::string padded = name;
  padded.resize(std::max<std::size_t>(12, name.size() + 1), ' ');
  return padded + text + "\n";
}

std::string number(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", value);
  return digits;
}

std::string values_text(const TensorView& row, const Dataset& dataset, const std::string& output) {
  std::string text = array_text(row.dtype, row.shape) + ": ";
  const ValueRange range = range_of(row);
  if (range.count == 0) return text + "empty";
  if (range.count == 1) {
    text += number(range.nans > 0 ? std::nan("") : range.low);
    const auto index = static_cast<std::size_t>(range.low);
    const bool named = extension_traits(output).label && range.low >= 0 && index < dataset.classes().size();
    return named ? text + " (" + dataset.classes()[index] + ")" : text;
  }
  text += "from " + number(range.low) + " to " + number(range.high) + ", mean " + number(range.mean);
  if (range.nans > 0) text += ", " + with_commas(range.nans) + " NaN";
  if (range.infinities > 0) text += ", " + with_commas(range.infinities) + " infinite";
  return text;
}

std::string geometry_text(const Outcomes& outcomes) {
  const Geometry& geometry = *outcomes.geometry;
  std::string text = number(geometry.box_width) + " x " + number(geometry.box_height) + " at x " +
                     number(geometry.box_x) + ", y " + number(geometry.box_y) + " of " +
                     std::to_string(geometry.source.width) + " x " + std::to_string(geometry.source.height);
  if (geometry.resamples())
    text += ", resampled to " + std::to_string(geometry.grid.width) + " x " + std::to_string(geometry.grid.height);
  if (outcomes.flipped) text += ", flipped";
  return outcomes.flipped_vertically ? text + ", upside down" : text;
}

std::string mix_text(const MixAccount& mix) {
  const Region& box = mix.draw.box;
  std::string text = mix.draw.kind == Mix::Kind::mixup ? "mixup" : "cutmix";
  text += ", " + number(mix.draw.lambda) + " of this row, the rest from row " + std::to_string(mix.partner) + " (" +
          mix.partner_key + ")";
  if (mix.draw.kind == Mix::Kind::mixup) return text;
  return text + ", " + std::to_string(box.width) + " x " + std::to_string(box.height) + " at x " +
         std::to_string(box.x) + ", y " + std::to_string(box.y);
}

std::string origin_text(const OutputOrigin& origin) {
  const OutputAccount& account = origin.account;
  std::string text = line(account.output, account.chain.empty() ? "decoded by its codec" : account.chain);
  std::string stored = account.field + ", " + bytes_text(origin.length) + " in " + origin.file;
  if (origin.offset) stored += " at " + with_commas(*origin.offset);
  if (!account.codec.empty()) stored += ", " + account.codec;
  if (account.stored) stored += " " + array_text(account.stored->dtype, account.stored->shape);
  text += line("  stored", stored);
  for (const StepOutcome& step : account.outcomes.steps) text += line("  step", step.step + ": " + step.outcome);
  if (account.outcomes.geometry) text += line("  pixels", geometry_text(account.outcomes));
  return text;
}

// Describes a row of a window: its chain with the first transform, then the place of each transform.
std::string step_text(const OutputOrigin& origin) {
  const OutputAccount& account = origin.account;
  std::string where = origin.key + (origin.inside ? ", " : ", repeated because the group has no such step, ") +
                      account.field + ", " + bytes_text(origin.length) + " in " + origin.file;
  if (origin.offset) where += " at " + with_commas(*origin.offset);
  std::string text = origin.step == 0 ? line(account.output, account.chain) : "";
  text += line("  frame " + std::to_string(origin.step), where);
  for (const StepOutcome& step : account.outcomes.steps) text += line("    step", step.step + ": " + step.outcome);
  return text;
}

void write_picture(const std::string& path, const Picture& picture) {
  const std::vector<std::byte> png = encode_png(picture.pixels, picture.width, picture.height);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  file.close();
  if (!file) throw Error::io(errno, "cannot write " + path);
}

const Chain& chain_of(const LoaderOptions& options, std::string_view output) {
  static const Chain kPlain;
  for (const auto& [name, chain] : options.transforms)
    if (name == output) return chain;
  return kPlain;
}

int run(const InspectArguments& given) {
  const Source source = open_source(given.dataset, given.open);
  const Dataset& dataset = source.dataset;
  const Wanted wanted = wanted_of(given, dataset, source.mixture);
  Loader loader(dataset, wanted.options);
  if (wanted.subset && loader.state().order->subset != wanted.subset)
    throw Error::invalid_argument(given.state + ": it was saved with a subset, which a state does not contain");
  const Batch batch = loader.at(wanted.epoch, wanted.batch);
  const RowAccount account = loader.explain(batch, given.row);

  std::string text = line("sample", account.key + " (number " + std::to_string(account.sample) + ")");
  if (!account.source.empty()) text += line("source", account.source);
  text += line("place", "row " + std::to_string(given.row) + " of batch " + std::to_string(wanted.batch) + ", epoch " +
                            std::to_string(account.epoch) + ", seed " + std::to_string(account.seed) + ", rank " +
                            std::to_string(given.rank) + " of " + std::to_string(wanted.options.world_size) +
                            (wanted.options.shuffle ? ", shuffled" : ", not shuffled") +
                            (batch.valid()[given.row] != 0 ? "" : "; padding, which does not count"));
  if (account.mix) text += line("mixed", mix_text(*account.mix));
  std::optional<Picture> shown;
  for (const OutputOrigin& origin : account.outputs) {
    if (!origin.key.empty()) {
      text += step_text(origin);
      continue;
    }
    const TensorView row = row_of(batch[origin.account.output], given.row);
    text += origin_text(origin) + line("  values", values_text(row, dataset, origin.account.output));
    const bool pixels = origin.account.stored && origin.account.stored->image;
    if (pixels && !shown) shown = picture_of(row, chain_of(wanted.options, origin.account.output));
  }
  if (!given.picture.empty()) {
    if (!shown) throw Error::invalid_argument("no output of this row is a picture");
    write_picture(given.picture, *shown);
    text += line("picture", given.picture);
  }
  if (shown && ::isatty(STDOUT_FILENO) == 1) text += terminal_text(*shown, kTerminalColumns);
  print(text);
  return 0;
}

}  // namespace

Command inspect_command(CLI::App& app) {
  const auto options = std::make_shared<InspectArguments>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show the origin of one row of a batch: sample, random draws, pixels");
  command->add_option("DATASET", options->dataset, "Dataset of any format, a folder of files, or the file of a mixture")
      ->required();
  command->add_option("--seed", options->seed, "Seed of the loader")->capture_default_str();
  command->add_option("--epoch", options->epoch, "Number of the epoch, from 0")->capture_default_str();
  command->add_option("--batch", options->batch, "Number of the batch in its epoch, from 0")->capture_default_str();
  command->add_option("--row", options->row, "Row of the batch, from 0")->capture_default_str();
  command->add_option("--batch-size", options->batch_size, "Rows per batch of the loader")->capture_default_str();
  command->add_option("--rank", options->rank, "Rank of the loader")->capture_default_str();
  command->add_option("--world", options->world, "Number of ranks of the loader")->capture_default_str();
  command->add_option("--last", options->last, "Option `last_batch` of the loader")
      ->check(CLI::IsMember({"keep", "drop", "pad"}))
      ->capture_default_str();
  command->add_flag("--shuffle,!--no-shuffle", options->shuffle, "The loader shuffles (the default is not to shuffle)");
  CLI::Option* block = command->add_option("--shuffle-block", options->shuffle_block,
                                           "Option `shuffle_block` of the loader, if it is set");
  options->drawing.declare(*command);
  options->buckets.declare(*command);
  const auto tasks = task_names();
  CLI::Option* task = command->add_option("--task", options->task, "Preset of chains; guessed if no --fields are given")
                          ->check(CLI::IsMember(std::vector<std::string>(tasks.begin(), tasks.end())));
  command->add_option("--fields", options->fields, "NAME=CHAIN, as in the loader; repeat the option for each output")
      ->excludes(task);
  command->add_option("--mix", options->mixes,
                      "mixup(ALPHA, num_classes=N) or cutmix(ALPHA, num_classes=N), as in the loader");
  command->add_option("--state", options->state,
                      "FILE with a loader's state, which provides seed, epoch, batch, sizes and chains");
  command->add_option("--picture", options->picture, "FILE.png to write, with the pixels of the first image output");
  add_open_options(*command, options->open);
  command->footer(
      "On a terminal, the picture is also shown.\n"
      "Examples:\n"
      "  penstock inspect train.tar.d --shuffle --seed 7 --epoch 3 --batch 812 --row 5 --batch-size 256\n"
      "  penstock inspect train.tar.d --fields 'jpg=image.random_resized_crop(224) | image.random_horizontal_flip()' "
      "--picture "
      "row.png\n"
      "  penstock inspect train.tar.d --state state.json --row 0      the next batch of the loader with this state");
  return {command, [options, block] {
            options->block_given = block->count() > 0;
            return run(*options);
          }};
}

}  // namespace penstock::cli
