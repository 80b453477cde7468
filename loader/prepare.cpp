#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <penstock/formats/error.hpp>
#include <penstock/loader/batch_mixer.hpp>
#include <penstock/loader/cores.hpp>
#include <penstock/loader/device_plan.hpp>
#include <penstock/loader/launcher.hpp>
#include <penstock/loader/prepare.hpp>
#include <penstock/transforms/codec.hpp>

namespace penstock {
namespace {

constexpr std::uint32_t kReadAheadRows = 64;  // reads in flight that keep a disk busy
constexpr int kValuesTried = 16;

bool is_sound(const FieldSchema& schema, const std::vector<std::byte>& value, const Codec* codec) {
  try {
    (codec != nullptr ? *codec : codec_for(schema, value)).decoder(schema)->peek({&schema, value});
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// The first of some values of the field whose header can be read; the first of all where none can; empty without any.
std::vector<std::byte> first_sound_value(const Dataset& dataset, std::uint32_t field, const Codec* codec) {
  std::optional<std::vector<std::byte>> first;
  std::vector<Piece> pieces;
  int tried = 0;
  for (std::uint64_t sample = 0; sample < dataset.size() && tried < kValuesTried; ++sample) {
    if (!dataset.locate(sample, field, pieces)) continue;
    ++tried;
    std::vector<std::byte> value = read_field(dataset, sample, field);
    if (is_sound(dataset.fields()[field], value, codec)) return value;
    if (!first) first = std::move(value);
  }
  return first.value_or(std::vector<std::byte>{});
}

Program compiled(const Dataset& dataset, std::span<const FieldChain> chains) {
  const FieldCatalog catalog{dataset.fields(), [&](std::uint32_t field, const Codec* codec) {
                               return first_sound_value(dataset, field, codec);
                             }};
  try {
    return Program(chains, catalog);
  } catch (const Error& error) {
    throw error.in({.dataset = dataset.path().string()});
  }
}

}  // namespace

LoaderOptions resolved(const Dataset& dataset, LoaderOptions options) {
  const auto require = [&](bool good, const char* cause) {
    if (!good) throw Error::invalid_argument(cause, {.dataset = dataset.path().string()});
  };
  require(options.batch_size > 0, "batch_size must be at least 1");
  require(options.prefetch > 0, "prefetch must be at least 1");
  require(options.held > 0, "held must be at least 1");
  require(options.world > 0, "world must be at least 1");
  require(options.rank < options.world, "rank must be less than world");
  require(options.max_error_rate >= 0 && options.max_error_rate <= 1, "max_error_rate must be between 0 and 1");
  require(options.timeout.count() >= 0, "timeout must not be negative");
  require(options.workers <= 1024, "workers must be at most 1024");
  if (options.workers == 0)
    options.workers = cores_of_rank(cores_in_affinity_mask(), cores_online(), cpu_quota(), local_ranks());
  require(options.device_prefetch > 0, "device_prefetch must be at least 1");
  if (options.on_device == nullptr && !options.device.empty()) options.on_device = open_device(options.device);
  if (options.on_device != nullptr) options.device = to_string(options.on_device->id());
  options.shuffle_block = shuffle_block(dataset, options);
  try {
    ask_for_classes(options, dataset.fields());
  } catch (const Error& error) {
    throw error.in({.dataset = dataset.path().string()});
  }
  return options;
}

Program compiled(const Dataset& dataset, const LoaderOptions& options) {
  return compiled(dataset, options.fields);
}

Programs programs_of(const Dataset& dataset, const LoaderOptions& options) {
  Program whole = compiled(dataset, options);
  if (const auto chains = chains_before_device(options)) {
    Program workers = compiled(dataset, *chains);
    if (auto outputs = device_outputs(options, workers.outputs(), whole.outputs()))
      return {std::move(workers), std::move(whole), std::move(*outputs)};
  }
  if (options.where == Where::device) {
    throw Error::invalid_argument(
        "where is \"device\", but no output's last step can be done there: that takes a device, images of the codecs' "
        "own steps that end in normalize() or cast(), or points whose last steps are center(), unit_sphere(), "
        "rotate(), "
        "jitter() or the like, and on_error other than mark",
        {.dataset = dataset.path().string()});
  }
  std::vector<DeviceOutput> outputs;
  for (const Output& output : whole.outputs()) outputs.push_back({.output = output});
  return {std::move(whole), std::nullopt, std::move(outputs)};
}

EngineOptions engine_options(const LoaderOptions& options, const Program& program) {
  EngineOptions engine = options.engine;
  engine.scattered = std::ranges::any_of(program.outputs(), [](const Output& output) { return output.scattered; });
  return engine;
}

PlanOptions plan_options(const LoaderOptions& options, const Selection& selection) {
  return {.samples = selection.samples,
          .shuffle = options.shuffle,
          .shuffle_block = *options.shuffle_block,
          .seed = options.seed,
          .batch_size = options.batch_size,
          .rank = options.rank,
          .world = options.world,
          .last = options.last};
}

unsigned slab_count(const LoaderOptions& options, bool reads_ahead) {
  const std::uint32_t rows = std::max(2 * options.workers, reads_ahead ? kReadAheadRows : 0);
  const unsigned filling = 1 + (rows + options.batch_size - 1) / options.batch_size;
  const unsigned on_batch = options.on_batch ? options.prefetch + 1 : 0;
  const unsigned behind = options.on_device != nullptr ? options.device_prefetch + 1 : options.held;
  return options.prefetch + filling + on_batch + behind;
}

}  // namespace penstock
