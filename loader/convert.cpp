#include <algorithm>
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
#include <penstock/transforms/codec.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kBatchBytes = 16 << 20;
constexpr std::uint64_t kMostRows = 1024;

/// Sample numbers in bytewise order of their keys; empty where the source has them in that order already.
/// Throws Error: corrupt, when two samples share a key.
std::vector<std::uint64_t> key_order(const Dataset& source) {
  const auto before = [&](std::uint64_t a, std::uint64_t b) { return source.key(a) < source.key(b); };
  std::vector<std::uint64_t> order(source.size());
  std::iota(order.begin(), order.end(), 0);
  const bool sorted = std::is_sorted(order.begin(), order.end(), before);
  if (!sorted) std::sort(order.begin(), order.end(), before);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (source.key(order[i - 1]) == source.key(order[i])) {
      throw Error::corrupt("two samples have this key",
                           {.dataset = source.path().string(), .key = std::string(source.key(order[i]))});
    }
  }
  if (sorted) order.clear();
  return order;
}

std::optional<std::uint64_t> first_with(const Dataset& source, std::uint32_t field) {
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < source.size(); ++sample) {
    if (source.locate(sample, field, pieces)) return sample;
  }
  return std::nullopt;
}

/// The source's fields, with the codec of each written down.
std::vector<FieldSchema> recorded_fields(const Dataset& source) {
  std::vector<FieldSchema> fields(source.fields().begin(), source.fields().end());
  for (std::uint32_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].codec.empty()) continue;
    const auto sample = first_with(source, i);
    if (!sample) continue;
    const std::vector<std::byte> value = read_field(source, *sample, i);
    for (const Codec* codec : codecs()) {
      if (codec->recognises(value)) {
        fields[i].codec = codec->name();
        break;
      }
    }
  }
  return fields;
}

LoaderOptions loader_options(const Dataset& source, const ConvertOptions& options) {
  LoaderOptions loader;
  loader.workers = options.workers;
  loader.prefetch = 4;
  loader.on_error = options.skip_bad ? OnError::mark : OnError::raise;
  loader.max_error_rate = 1.0;
  loader.missing = Missing::empty;
  std::uint64_t bytes = 0;
  const std::uint64_t looked = std::min<std::uint64_t>(source.size(), 1000);
  for (std::uint32_t i = 0; i < source.fields().size(); ++i) {
    loader.fields.emplace_back(source.fields()[i].name, raw());
    for (std::uint64_t sample = 0; sample < looked; ++sample) bytes += source.length(sample, i);
  }
  const std::uint64_t mean = std::max<std::uint64_t>(1, looked == 0 ? 1 : bytes / looked);
  loader.batch_size = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kBatchBytes / mean, 1, kMostRows));
  return loader;
}

/// Takes batches apart and hands their samples to the writer.
class Packer {
 public:
  Packer(const Dataset& source, DatasetWriter& writer, std::span<const FieldSchema> fields)
      : source_(source), writer_(writer), fields_(fields) {}

  void add(const Batch& batch, ConvertResult& result) {
    for (std::uint32_t row = 0; row < batch.size(); ++row) {
      if (batch.valid()[row] == 0) continue;
      add_sample(batch, row);
      ++result.samples;
    }
    result.bytes = writer_.bytes();
  }

 private:
  void add_sample(const Batch& batch, std::uint32_t row) {
    const std::uint64_t sample = batch.samples()[row];
    values_.clear();
    headers_.clear();
    headers_.reserve(fields_.size());  // values_ keep spans of its elements
    for (std::uint32_t i = 0; i < fields_.size(); ++i) {
      if (!source_.locate(sample, i, pieces_)) continue;
      const Field& column = batch.fields()[i];
      const auto begin = static_cast<std::size_t>(column.offsets[row]);
      const auto end = static_cast<std::size_t>(column.offsets[row + 1]);
      const std::span<const std::byte> bytes = column.as<std::byte>().subspan(begin, end - begin);
      const std::uint32_t crc = crc32c(bytes);
      if (const auto recorded = source_.crc32c(sample, i); recorded && *recorded != crc) {
        throw Error::corrupt(
            "the bytes do not have the CRC-32C recorded for them",
            {.dataset = source_.path().string(), .key = std::string(source_.key(sample)), .field = fields_[i].name});
      }
      const Codec* codec = codec_named(fields_[i].codec);
      headers_.push_back(codec != nullptr ? codec->header(bytes) : std::vector<std::byte>{});
      values_.push_back({i, bytes, crc, headers_.back()});
    }
    writer_.add(source_.key(sample), values_);
  }

  const Dataset& source_;
  DatasetWriter& writer_;
  std::span<const FieldSchema> fields_;
  std::vector<FieldValue> values_;
  std::vector<std::vector<std::byte>> headers_;
  std::vector<Piece> pieces_;
};

}  // namespace

ConvertResult convert(const Dataset& source, const std::filesystem::path& destination, const ConvertOptions& options,
                      const std::function<bool(const ConvertProgress&)>& progress) {
  const std::vector<FieldSchema> fields = recorded_fields(source);
  DatasetWriter writer(destination, {.format = options.format,
                                     .shard_size = options.shard_size,
                                     .align = options.align,
                                     .fields = fields,
                                     .classes = {source.classes().begin(), source.classes().end()},
                                     .made_with = "{}",
                                     .overwrite = options.overwrite,
                                     .resume = options.resume});
  ConvertResult result;
  result.resumed = writer.resumed_samples();
  LoaderOptions chosen = loader_options(source, options);
  chosen.subset = key_order(source);
  if (result.resumed != 0) {
    if (chosen.subset.empty()) {
      chosen.subset.resize(source.size());
      std::iota(chosen.subset.begin(), chosen.subset.end(), 0);
    }
    chosen.subset.erase(chosen.subset.begin(),
                        chosen.subset.begin() +
                            static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(result.resumed, chosen.subset.size())));
  }
  if (result.resumed < source.size()) {
    Loader loader(source, chosen);
    Packer packer(source, writer, fields);
    while (const std::optional<Batch> batch = loader.next()) {
      packer.add(*batch, result);
      if (progress && !progress({result.resumed + result.samples, source.size(), result.bytes})) {
        throw Error::resource("interrupted; --resume continues after the last whole shard",
                              {.dataset = destination.string()});
      }
    }
    Stats stats = loader.stats();
    result.skipped = stats.bad_samples;
    result.bad = std::move(stats.bad);
  }
  writer.finish();
  return result;
}

}  // namespace penstock
