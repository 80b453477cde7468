#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <penstock/formats/crc32c.hpp>
#include <penstock/formats/dataset_writer.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/loader/convert.hpp>
#include <penstock/loader/loader.hpp>
#include <penstock/loader/packed_fields.hpp>
#include <penstock/transforms/codec.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kBatchBytes = 16 << 20;
constexpr std::uint64_t kMostRows = 1024;

/// Sample numbers in bytewise order of their keys, from the first key after `after` on.
/// Throws Error: corrupt, when two samples share a key.
std::vector<std::uint64_t> key_order(const Dataset& source, const std::string& after) {
  const auto before = [&](std::uint64_t a, std::uint64_t b) { return source.key(a) < source.key(b); };
  std::vector<std::uint64_t> order(source.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (source.key(order[i - 1]) == source.key(order[i])) {
      throw Error::corrupt("two samples have this key",
                           {.dataset = source.path().string(), .key = std::string(source.key(order[i]))});
    }
  }
  if (after.empty()) return order;
  const auto rest =
      std::upper_bound(order.begin(), order.end(), after,
                       [&](const std::string& key, std::uint64_t sample) { return key < source.key(sample); });
  order.erase(order.begin(), rest);
  return order;
}

LoaderOptions loader_options(const Dataset& source, const PackedFields& fields, const ConvertOptions& options) {
  LoaderOptions loader;
  loader.workers = options.workers;
  loader.prefetch = 4;
  loader.on_error = options.skip_bad ? OnError::mark : OnError::raise;
  loader.max_error_rate = 1.0;
  loader.missing = Missing::empty;
  std::uint64_t bytes = 0;
  const std::uint64_t looked = std::min<std::uint64_t>(source.size(), 1000);
  for (std::uint32_t i = 0; i < fields.schemas().size(); ++i) {
    const std::optional<std::uint32_t> stored = fields.stored(i);
    if (!stored) continue;
    loader.fields.emplace_back(fields.schemas()[i].name, raw());
    for (std::uint64_t sample = 0; sample < looked; ++sample) bytes += source.length(sample, *stored);
  }
  const std::uint64_t mean = std::max<std::uint64_t>(1, looked == 0 ? 1 : bytes / looked);
  loader.batch_size = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kBatchBytes / mean, 1, kMostRows));
  return loader;
}

/// What decides the bytes beside the writer's own options; a resumed run must agree.
std::string made_with(const Dataset& source, const ConvertOptions& options) {
  return nlohmann::json{{"source", {{"samples", source.size()}, {"keys", source.fingerprint()}}},
                        {"labels", options.labels},
                        {"classes", options.classes},
                        {"skip_bad", options.skip_bad}}
      .dump();
}

/// Takes batches apart and hands their samples to the writer.
class Packer {
 public:
  Packer(const Dataset& source, const PackedFields& fields, DatasetWriter& writer, bool skip_bad)
      : source_(source), fields_(fields), writer_(writer), skip_bad_(skip_bad) {}

  void add(const Batch& batch, ConvertResult& result) {
    for (std::uint32_t row = 0; row < batch.size(); ++row) {
      if (batch.valid()[row] == 0) continue;
      try {
        add_sample(batch, row);
        ++result.samples;
      } catch (const Error& error) {
        if (!skip_bad_ || !error.is_data_fault()) throw;
        const ErrorContext& where = error.context();
        result.bad.push_back({where.key, where.field, error.cause(), batch.samples()[row], batch.epoch()});
      }
    }
    result.bytes = writer_.bytes();
  }

 private:
  void add_sample(const Batch& batch, std::uint32_t row) {
    const std::uint64_t sample = batch.samples()[row];
    values_.clear();
    headers_.clear();
    headers_.reserve(fields_.schemas().size());  // values_ keep spans of its elements
    const ErrorContext where{.dataset = source_.path().string(), .key = std::string(source_.key(sample))};
    for (std::uint32_t i = 0; i < fields_.schemas().size(); ++i) {
      try {
        const auto bytes = value(batch, row, sample, i);
        if (bytes) add_value(i, *bytes);
      } catch (const Error& error) {
        throw error.in({.dataset = where.dataset, .key = where.key, .field = fields_.schemas()[i].name});
      }
    }
    writer_.add(where.key, values_);
  }

  std::optional<std::span<const std::byte>> value(const Batch& batch, std::uint32_t row, std::uint64_t sample,
                                                  std::uint32_t number) {
    const std::optional<std::uint32_t> stored = fields_.stored(number);
    if (!stored) return fields_.label(sample);
    if (!source_.locate(sample, *stored, pieces_)) return std::nullopt;
    const Field& column = batch[fields_.schemas()[number].name];
    const auto begin = static_cast<std::size_t>(column.offsets[row]);
    const auto end = static_cast<std::size_t>(column.offsets[row + 1]);
    const std::span<const std::byte> bytes = column.as<std::byte>().subspan(begin, end - begin);
    if (const auto recorded = source_.crc32c(sample, *stored); recorded && *recorded != crc32c(bytes)) {
      throw Error::corrupt("the bytes do not have the CRC-32C recorded for them");
    }
    return fields_.renumbered(number, bytes, scratch_);
  }

  void add_value(std::uint32_t number, std::span<const std::byte> bytes) {
    const Codec* codec = codec_named(fields_.schemas()[number].codec);
    headers_.push_back(codec != nullptr ? codec->header(bytes) : std::vector<std::byte>{});
    values_.push_back({number, bytes, crc32c(bytes), headers_.back()});
  }

  const Dataset& source_;
  const PackedFields& fields_;
  DatasetWriter& writer_;
  const bool skip_bad_;
  std::vector<FieldValue> values_;
  std::vector<std::vector<std::byte>> headers_;
  std::vector<Piece> pieces_;
  std::string scratch_;
};

}  // namespace

ConvertResult convert(const Dataset& source, const std::filesystem::path& destination, const ConvertOptions& options,
                      const std::function<bool(const ConvertProgress&)>& progress) {
  const PackedFields fields(source, options.labels, options.classes);
  DatasetWriter writer(destination, {.format = options.format,
                                     .shard_size = options.shard_size,
                                     .align = options.align,
                                     .fields = fields.schemas(),
                                     .classes = fields.classes(),
                                     .made_with = made_with(source, options),
                                     .overwrite = options.overwrite,
                                     .resume = options.resume});
  ConvertResult result;
  result.resumed = writer.resumed_samples();
  LoaderOptions chosen = loader_options(source, fields, options);
  chosen.subset = key_order(source, writer.last_key());
  if (!chosen.subset.empty()) {
    Loader loader(source, chosen);
    Packer packer(source, fields, writer, options.skip_bad);
    while (const std::optional<Batch> batch = loader.next()) {
      packer.add(*batch, result);
      if (progress && !progress({result.resumed + result.samples, source.size(), result.bytes})) {
        throw Error::resource("interrupted; resume continues after the last whole shard",
                              {.dataset = destination.string()});
      }
    }
    const Stats stats = loader.stats();
    result.skipped = stats.bad_samples + result.bad.size();
    result.bad.insert(result.bad.end(), stats.bad.begin(), stats.bad.end());
  }
  writer.finish();
  return result;
}

}  // namespace penstock
