#include <algorithm>
#include <cstdlib>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <base/cores.hpp>
#include <base/printable.hpp>
#include <device/device.hpp>
#include <formats/absent_fields.hpp>
#include <formats/dataset.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/extent_reader.hpp>
#include <formats/labels/absent_classes.hpp>
#include <loader/device/device_plan.hpp>
#include <loader/options/distributed_env.hpp>
#include <loader/prepare.hpp>
#include <loader/work/batch_mixer.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <penstock/mixture.hpp>
#include <penstock/order.hpp>
#include <transforms/output.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kNoSample = ~std::uint64_t{0};
// Bytes of a row from which on a file's mapping is cheaper than a copy by the kernel.
constexpr std::uint64_t kLongRow = 4096;
constexpr int kValuesTried = 16;
// 31 years: small enough to be added to any time of the clock.
constexpr std::chrono::seconds kLongestTimeout{1'000'000'000};
constexpr unsigned kMostWorkers = 1024;
// Least upper limit for automatic scaling: storage may keep many workers waiting.
constexpr unsigned kFewestAuto = 64;
constexpr unsigned kMostBatches = 65536;  // small enough that sums with workers do not overflow
constexpr int kValuesForItem = 1024;      // many samples may have no box
constexpr int kBadValuesTried = 1024;     // limit if the error policy tolerates invalid values

bool is_unreadable(const LoaderOptions& options, std::string_view key) {
  return std::ranges::binary_search(options.read_options.unreadable, key);
}

bool is_sound(const FieldSchema& schema, const FirstBytes& value, const Codec* codec) {
  try {
    (codec != nullptr ? *codec : codec_for(schema, value.bytes)).decoder(schema)->peek(value.of(schema));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Returns the sample as text if several files have samples.
std::string place_of(const Dataset& dataset, std::uint64_t sample, std::uint32_t field) {
  if (dataset.shard_count() == 1) return {};
  return "sample " + std::string(dataset.key(sample)) + " in " + dataset.shard(dataset.shard_of(sample, field)).name;
}

/// Returns the first bytes of a long value if its codec reads its header from them and parts of the value later.
/// Clouds with millions of points need nothing more, and reading them whole would take longer than the first batch.
std::optional<FirstBytes> sound_prefix(const Dataset& dataset, std::uint32_t field, std::span<const Piece> pieces) {
  constexpr std::uint64_t kLong = std::uint64_t{1} << 20;
  const FieldSchema& schema = dataset.fields()[field];
  const bool one_extent = pieces.size() == 1 && pieces.front().kind == Piece::Kind::extent;
  if (!one_extent || pieces.front().length < kLong) return std::nullopt;
  const Codec* codec = codec_named(schema.codec);
  if (codec == nullptr || codec->prefix_bytes() == 0) return std::nullopt;
  const Extent& extent = pieces.front().extent;
  std::vector<std::byte> bytes = ExtentReader(dataset).beginning(extent, codec->prefix_bytes());
  if (&codec_for(schema, bytes) != codec) return std::nullopt;
  const std::vector<std::byte> header = codec->header(bytes);
  if (header.empty() || !codec->layout({&schema, header, extent.length})) return std::nullopt;
  const ByteRange range{0, bytes.size()};
  FirstBytes value(std::move(bytes), range);
  if (!is_sound(schema, value, codec)) return std::nullopt;
  return value;
}

/// Returns the first value of the field whose header can be read, out of a limited number. Returns the first of all
/// if no header can be read, and an empty value if there are none. `key` becomes the name of its sample.
FirstBytes first_sound_value(const Dataset& dataset, const LoaderOptions& options, std::uint32_t field,
                             const Codec* codec, std::string& key) {
  const int most = options.on_error == OnError::raise ? kValuesTried : kBadValuesTried;
  std::optional<FirstBytes> first;
  std::uint64_t first_sample = 0;
  std::vector<Piece> pieces;
  int tried = 0;
  for (std::uint64_t sample = 0; sample < dataset.size() && tried < most; ++sample) {
    if (is_unreadable(options, dataset.key(sample)) || !dataset.locate(sample, field, pieces)) continue;
    ++tried;
    key = dataset.key(sample);
    const std::string place = place_of(dataset, sample, field);
    if (codec == nullptr) {
      try {
        if (auto prefix = sound_prefix(dataset, field, pieces)) {
          prefix->place = place;
          return *std::move(prefix);
        }
      } catch (const Error&) {  // reading the whole value gives the same error or a better one
      }
    }
    FirstBytes value(read_field(dataset, sample, field));
    value.exists = true;
    value.place = place;
    if (is_sound(dataset.fields()[field], value, codec)) return value;
    if (!first) {
      first = std::move(value);
      first_sample = sample;
    }
  }
  key = first ? std::string(dataset.key(first_sample)) : std::string();
  return first.value_or(FirstBytes());
}

/// Returns the first value of the field for which `wanted` is true, or an empty value. `key` becomes the name of its
/// sample.
FirstBytes first_wanted_value(const Dataset& dataset, const LoaderOptions& options, std::uint32_t field,
                              const std::function<bool(const FirstBytes&)>& wanted, std::string& key) {
  std::vector<Piece> pieces;
  int tried = 0;
  for (std::uint64_t sample = 0; sample < dataset.size() && tried < kValuesForItem; ++sample) {
    if (is_unreadable(options, dataset.key(sample)) || !dataset.locate(sample, field, pieces)) continue;
    ++tried;
    try {
      FirstBytes value(read_field(dataset, sample, field));
      value.exists = true;
      value.place = place_of(dataset, sample, field);
      key = dataset.key(sample);
      if (wanted(value)) return value;
    } catch (const Error& error) {
      if (!error.is_data_fault()) throw;  // the error policy handles an invalid value at its delivery
    } catch (const std::exception&) {     // the same for an exception of a user's codec
    }
  }
  return {};
}

// Sorts the keys for is_unreadable().
void require_unreadable(const Dataset& dataset, LoaderOptions& options) {
  if (options.read_options.unreadable.empty()) return;
  const ErrorContext here{.dataset = dataset.path().string()};
  if (options.on_error == OnError::raise)
    throw Error::invalid_argument(
        "unreadable requires on_error \"replace\" or \"mark\", which determine the rows of these samples", here);
  for (const std::string& key : options.read_options.unreadable) {
    if (!dataset.find(key))
      throw Error::invalid_argument("unreadable: the dataset has no sample " + double_quoted(key), here);
  }
  std::ranges::sort(options.read_options.unreadable);
  std::vector<std::string_view> named;
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    if (is_unreadable(options, dataset.key(sample))) named.push_back(dataset.key(sample));
  }
  std::ranges::sort(named);
  const auto twice = std::ranges::adjacent_find(named);
  if (twice == named.end()) return;
  throw Error::invalid_argument(
      "unreadable: several samples have the key " + double_quoted(*twice) +
          ", and some of them may be readable; pack the dataset, so that each sample has its own key",
      here);
}

Program compiled(const Dataset& dataset, std::span<const FieldChain> chains, const LoaderOptions& options) {
  std::string probed;  // the sample that provided an output's shape last
  const FieldCatalog catalog{dataset.fields(),
                             [&](std::uint32_t field, const Codec* codec) {
                               return first_sound_value(dataset, options, field, codec, probed);
                             },
                             [&](std::uint32_t field, const std::function<bool(const FirstBytes&)>& wanted) {
                               return first_wanted_value(dataset, options, field, wanted, probed);
                             },
                             [&](const std::string& field) {
                               const std::string cause =
                                   extension_traits(field).label ? absent_classes(dataset).cause : "";
                               return cause.empty() ? why_no_field(dataset, field) : "no labels: " + cause;
                             }};
  try {
    Program program(chains, catalog);
    program.treat_missing(options.missing, options.missing_by_output);
    return program;
  } catch (const Error& error) {
    const bool of_sample = error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::unsupported;
    throw error.in({.dataset = dataset.path().string(), .key = of_sample ? probed : ""});
  }
}

void require_order_of_draws(const Dataset& dataset, const LoaderOptions& options) {
  if (options.sampler == nullptr) return;
  const Draws& draws = *options.sampler;
  const bool by_chance = draws.kind == Draws::Kind::weighted || draws.kind == Draws::Kind::once;
  const bool in_parts = options.shuffle_window != 0 || options.shuffle_block.value_or(0) != 0;
  const auto refuse = [&](const char* cause) {
    throw Error::invalid_argument(draws.about + cause, {.dataset = dataset.path().string()});
  };
  if (by_chance && !options.shuffle) refuse(": samples are drawn at random, which requires shuffle");
  if (by_chance && in_parts)
    refuse(" cannot be combined with shuffle.window() or shuffle.blocks(), which follow the order of the samples");
}

void require_whole_batches(const Dataset& dataset, const LoaderOptions& options) {
  constexpr std::uint64_t kLongestWindow = std::uint64_t{1} << 31;
  const std::uint64_t rows = std::uint64_t{options.batch_size} * options.world_size, window = options.batching->window;
  const ErrorContext here{.dataset = dataset.path().string()};
  if (window > kLongestWindow) throw Error::invalid_argument("pool of by_length() must be at most 2147483648", here);
  if (window < rows)
    throw Error::invalid_argument(
        "pool=" + std::to_string(window) + " is smaller than a batch of all ranks, " + std::to_string(rows) + " rows",
        here);
}

void require_shareable(const Dataset& dataset, const LoaderOptions& options) {
  constexpr std::size_t kLongestName = 64;
  const SharingOptions& sharing = options.sharing;
  const auto require = [&](bool good, const char* cause) {
    if (!good) throw Error::invalid_argument(cause, {.dataset = dataset.path().string()});
  };
  require(sharing.name.size() <= kLongestName, "the name of sharing may have 64 bytes at most");
  require(sharing.name.find('\0') == std::string::npos, "the name of sharing must not contain zero bytes");
  require(sharing.lag > 0 && sharing.lag <= kMostBatches, "lag must be from 1 to 65536");
  require(sharing.patience > 0 && sharing.patience <= static_cast<double>(kLongestTimeout.count()),
          "patience must be more than 0 seconds");
  // A larger page could contain values of two batches, and a change in one of them is removed by pages.
  require(::sysconf(_SC_PAGESIZE) == 4096, "sharing requires a kernel with pages of 4,096 bytes");
  require(
      options.device.empty() && options.device_options.opened == nullptr,
      "sharing cannot be combined with device: shared batches are in the host's memory. Copy each batch to the device "
      "in your loop");
}

void require_servable(const Dataset& dataset, const LoaderOptions& options) {
  constexpr std::size_t kMostServers = 256;
  const auto require = [&](bool good, const char* cause) {
    if (!good) throw Error::invalid_argument(cause, {.dataset = dataset.path().string()});
  };
  require(options.servers.addresses.size() <= kMostServers, "there may be 256 servers at most");
  require(options.servers.patience >= 0.001 && options.servers.patience <= static_cast<double>(kLongestTimeout.count()),
          "servers.patience must be at least 0.001 seconds");
}

}  // namespace

LoaderOptions resolved(const Dataset& dataset, LoaderOptions options) {
  const auto require = [&](bool good, const char* cause) {
    if (!good) throw Error::invalid_argument(cause, {.dataset = dataset.path().string()});
  };
  require(options.batch_size > 0, "batch_size must be at least 1");
  require(options.prefetch > 0, "prefetch must be at least 1");
  require(options.memory_options.reserved_batches > 0, "reserved_batches must be at least 1");
  if (options.memory_options.max_live_batches == 0)
    options.memory_options.max_live_batches = options.memory_options.reserved_batches;
  require(options.memory_options.max_live_batches >= options.memory_options.reserved_batches,
          "max_live_batches must be at least reserved_batches");
  require(options.memory_options.max_live_batches <= kMostBatches,
          "reserved_batches and max_live_batches must be at most 65536");
  require(options.world_size > 0, "world_size must be at least 1");
  if (options.rank >= options.world_size) {
    throw Error::invalid_argument("rank " + std::to_string(options.rank) + " must be less than world_size, which is " +
                                      std::to_string(options.world_size) + ": ranks begin at 0",
                                  {.dataset = dataset.path().string()});
  }
  require(options.max_error_rate >= 0 && options.max_error_rate <= 1, "max_errors as a share must be between 0 and 1");
  require_unreadable(dataset, options);
  require(options.timeout.count() >= 0, "timeout must not be negative");
  options.timeout = std::min<std::chrono::milliseconds>(options.timeout, kLongestTimeout);
  require(options.prefetch <= kMostBatches, "prefetch must be at most 65536");
  require(options.device_options.prefetch <= kMostBatches, "device_options.prefetch must be at most 65536");
  require(options.workers <= kMostWorkers, "workers must be at most 1024");
  require(options.max_workers <= kMostWorkers || options.max_workers == kAutoWorkers,
          "max_workers must be at most 1024");
  if (const char* publish = std::getenv("PENSTOCK_PUBLISH"); publish != nullptr && std::string_view(publish) == "0")
    options.publish = false;
  if (options.workers == 0)
    options.workers = cores_of_rank(cores_in_affinity_mask(), cores_online(), cpu_quota(), local_ranks());
  if (options.max_workers == kAutoWorkers)
    options.max_workers = std::min(kMostWorkers, std::max(kFewestAuto, 4 * options.workers));
  options.max_workers = std::max(options.max_workers, options.workers);
  require(options.mixture == nullptr || options.shuffle || options.mixture->options().sampling != Sampling::random,
          "a mixture with sampling \"random\" requires shuffle");
  require(options.shuffle_window == 0 || options.shuffle, "shuffle_window requires shuffle");
  require(options.shuffle_window == 0 || options.shuffle_block.value_or(0) == 0,
          "shuffle_window cannot be combined with shuffle_block");
  require_order_of_draws(dataset, options);
  if (options.batching != nullptr) require_whole_batches(dataset, options);
  if (!options.sharing.name.empty()) require_shareable(dataset, options);
  if (!options.servers.addresses.empty()) require_servable(dataset, options);
  if (options.timeout.count() > 0)  // the loader fills a batch itself before next() gives up
    options.servers.patience = std::min(options.servers.patience, static_cast<double>(options.timeout.count()) / 2000);
  require(options.device_options.prefetch > 0, "device_options.prefetch must be at least 1");
  if (options.device_options.opened == nullptr && !options.device.empty())
    options.device_options.opened = open_device(options.device);
  if (options.device_options.opened != nullptr) options.device = to_string(options.device_options.opened->id());
  require(!options.device_options.gpu_direct || options.device_options.opened != nullptr,
          "gpu_direct requires a device");
  require(options.device_options.gpu_jpeg >= 0 && options.device_options.gpu_jpeg <= 1,
          "gpu_jpeg must be between 0 and 1");
  require(options.device_options.gpu_jpeg == 0 || options.device_options.opened != nullptr,
          "gpu_jpeg requires a device");
  const bool no_step_on_host_rows =
      !options.batch_transform && options.mix.empty() && options.cache.kind == CacheKind::none;
  require(options.device_options.gpu_jpeg == 0 || no_step_on_host_rows,
          "gpu_jpeg cannot be combined with batch_transform, mix or cache, which work on rows in the host's memory");
  require(!options.device_options.gpu_direct || no_step_on_host_rows,
          "gpu_direct cannot be combined with batch_transform, mix or cache, which work on rows in the host's memory");
  try {
    ask_for_classes(options, dataset.fields());
  } catch (const Error& error) {
    throw error.in({.dataset = dataset.path().string()});
  }
  return options;
}

Program compiled(const Dataset& dataset, const LoaderOptions& options) {
  return compiled(dataset, options.transforms, options);
}

Programs programs_of(const Dataset& dataset, const LoaderOptions& options) {
  Program whole = compiled(dataset, options);
  if (const auto chains = chains_before_device(options, whole.outputs())) {
    Program workers = compiled(dataset, *chains, options);
    if (auto outputs = device_outputs(options, workers.outputs(), whole.outputs()))
      return {std::move(workers), *chains, std::move(whole), std::move(*outputs)};
  }
  if (options.device_options.finish_on == FinishOn::device) {
    throw Error::invalid_argument(
        "finish_on is \"device\", but the device cannot run the last step of any output. This requires a device, "
        "on_error other than \"mark\", no number for the output in missing, and one of: images whose built-in steps "
        "end in normalize() or cast(); points "
        "that end in center(), unit_sphere(), rotate(), jitter() or similar",
        {.dataset = dataset.path().string()});
  }
  std::vector<DeviceOutput> outputs;
  for (const Output& output : whole.outputs()) outputs.push_back({.output = output});
  return {std::move(whole), options.transforms, std::nullopt, std::move(outputs)};
}

EngineOptions engine_options(const LoaderOptions& options) {
  return {.kind = options.read_options.engine,
          .direct_io = options.read_options.direct_io,
          .threads = options.read_options.threads,
          .depth = options.read_options.depth,
          .merge_gap_bytes = options.read_options.merge_gap_bytes,
          .merge_bytes = options.read_options.merge_bytes,
          .block_window = options.read_options.read_ahead_bytes};
}

EngineOptions engine_options(const LoaderOptions& options, const Program& program) {
  EngineOptions engine = engine_options(options);
  engine.scattered = std::ranges::any_of(program.outputs(), [](const Output& output) { return output.scattered; });
  engine.rows = std::ranges::any_of(program.outputs(), [](const Output& output) {
    return output.verbatim && !output.ragged && output.row_bytes() >= kLongRow;
  });
  return engine;
}

OrderOptions order_options(const LoaderOptions& options) {
  return {.shuffle = options.shuffle,
          .seed = options.seed,
          .shuffle_block = options.shuffle_block,
          .shuffle_window = options.shuffle_window,
          .batch_size = options.batch_size,
          .rank = options.rank,
          .world = options.world_size,
          .last = options.last_batch,
          .subset = options.subset,
          .mixture = options.mixture,
          .draws = options.sampler,
          .buckets = options.batching,
          .windows = options.windows};
}

std::vector<FailureShare> failure_shares(const Selection& selection) {
  if (selection.mixed == nullptr) return {{.samples = selection.samples}};
  std::vector<FailureShare> shares;
  for (std::size_t s = 0; s < selection.mixed->sources.size(); ++s) {
    const MixedSource& source = selection.mixed->sources[s];
    shares.push_back({.source = source.name,
                      .first_sample = source.first < selection.listed ? selection.sample(source.first) : kNoSample,
                      .samples = selection.mixed->counts[s]});
  }
  return shares;
}

}  // namespace penstock
