#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <base/serial_executor.hpp>
#include <formats/extent.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/hash.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/parts.hpp>
#include <formats/places/address.hpp>
#include <formats/places/store_destination.hpp>
#include <formats/text/json_cause.hpp>
#include <pack/array_rows.hpp>
#include <pack/key_order.hpp>
#include <pack/packed_fields.hpp>
#include <pack/packer.hpp>
#include <pack/recoding.hpp>
#include <pack/shard_plan.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <penstock/pack.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kBatchBytes = 4 << 20;  // small enough for several batches to fit into the last-level cache
constexpr std::uint64_t kMostRows = 1024;
constexpr const char* kCompleting = "penstock-shard";  // name of the thread that completes full shards

bool skips_bad(const ConvertOptions& options) {
  return options.on_error == PackOnError::skip;
}

LoaderOptions loader_options(const Dataset& source, const PackedFields& fields, const ConvertOptions& options) {
  LoaderOptions loader;
  loader.workers = options.workers;
  loader.prefetch = 4;
  loader.on_error = skips_bad(options) ? OnError::mark : OnError::raise;
  loader.max_error_rate = 1.0;
  loader.missing = Missing::empty;
  loader.checksums = Checksums::always;
  std::uint64_t bytes = 0;
  const std::uint64_t looked = std::min<std::uint64_t>(source.size(), 1000);
  for (std::uint32_t i = 0; i < fields.schemas().size(); ++i) {
    const std::optional<std::uint32_t> stored = fields.stored(i);
    if (!stored) continue;
    loader.transforms.emplace_back(fields.schemas()[i].name, raw());
    for (std::uint64_t sample = 0; sample < looked; ++sample) bytes += source.length(sample, *stored);
  }
  std::uint64_t mean = std::max<std::uint64_t>(1, looked == 0 ? 1 : bytes / looked);
  // All decoded pixels of a batch are in memory at once, so the batch size must account for their size.
  const PixelRecoding& pixels = options.recoding.pixels;
  if (!pixels.keeps_all()) mean = std::max(mean, static_cast<std::uint64_t>(pixels.height * pixels.width * 3));
  loader.batch_size = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kBatchBytes / mean, 1, kMostRows));
  return loader;
}

Share share_of(const ShardPlan& plan, std::uint32_t rank, std::uint32_t world) {
  const auto [first, end] = plan.share(rank, world);
  Share share{.first_shard = first};
  const auto at = [&](std::size_t shard) {
    return plan.order().begin() + static_cast<std::ptrdiff_t>(plan.begin(shard));
  };
  share.samples.assign(at(first), at(end));
  for (std::size_t shard = first; shard < end; ++shard) share.begins.push_back(plan.begin(shard) - plan.begin(first));
  return share;
}

/// Returns the inputs that determine the packed bytes, except the writer's own options. A resumed run must have equal
/// ones.
Json made_with(const Dataset& source, const PackedFields& fields, const ConvertOptions& options) {
  Json json{{"source", {{"samples", source.size()}, {"keys", source.fingerprint()}}},
            {"labels", options.labels},
            {"classes", options.classes},
            {"skip_bad", skips_bad(options)}};
  json.update(Json::parse(recoding_json(options.recoding)));
  if (!fields.arrays().empty()) json[kArraysMember] = fields.arrays();
  return json;
}

/// Returns the same for one part. Everything is equal on all ranks except "part".
Json made_with(const Dataset& source, const PackedFields& fields, const ConvertOptions& options, const ShardPlan& plan,
               const Share& share) {
  Json json = made_with(source, fields, options);
  json["source"]["values"] = plan.stamp();
  json["shard_size"] = options.shard_size;
  json["align"] = options.align;
  json["shards"] = plan.shards();
  json["part"] = {{"rank", options.rank},
                  {"world", options.world},
                  {"first_shard", share.first_shard},
                  {"end_shard", share.first_shard + share.begins.size()},
                  {"samples", share.samples.size()}};
  return json;
}

/// Returns the position of the first sample whose key comes after `key`, or 0 if `key` is empty.
std::uint64_t position_after(const Dataset& source, const Share& share, const std::string& key) {
  if (key.empty()) return 0;
  const auto found =
      std::upper_bound(share.samples.begin(), share.samples.end(), key,
                       [&](const std::string& wanted, std::uint64_t sample) { return wanted < source.key(sample); });
  return static_cast<std::uint64_t>(found - share.samples.begin());
}

/// Computes change marks of a source's samples. A mark changes when the stored content changes, and is computed without
/// reading the content.
class SourceMarks {
 public:
  SourceMarks(const Dataset& source, const PackedFields& fields, const Share& share, const ConvertOptions& options)
      : source_(source), fields_(fields), share_(share), mark_of_file_(options.mark_of_file) {}

  std::uint64_t of(std::string_view key) {
    const auto found =
        std::ranges::lower_bound(share_.samples, key, {}, [&](std::uint64_t sample) { return source_.key(sample); });
    return found == share_.samples.end() || source_.key(*found) != key ? 0 : of_sample(*found);
  }

  // Returns one mark for all samples of the share, including the skipped ones.
  std::string of_all() {
    std::uint64_t mark = 0;
    for (const std::uint64_t sample : share_.samples) mark = mix64(mark ^ of_sample(sample));
    return hexadecimal(mark);
  }

 private:
  std::uint64_t of_sample(std::uint64_t sample) {
    std::uint64_t mark = hash64(source_.key(sample));
    for (std::uint32_t field = 0; field < fields_.schemas().size(); ++field)
      mark = mix64(mark ^ of_value(sample, field));
    return mark;
  }

  // Uses the value's checksum if the source has one. Otherwise the mark covers the value's place in its file and the
  // file's mark (size and time).
  std::uint64_t of_value(std::uint64_t sample, std::uint32_t field) {
    const std::optional<std::uint32_t> stored = fields_.stored(field);
    if (!stored) return crc32c(fields_.label(sample));
    if (!source_.locate(sample, *stored, pieces_)) return 1;
    if (const auto crc = source_.crc32c(sample, *stored)) return mix64(source_.length(sample, *stored)) ^ *crc;
    std::uint64_t mark = 0;
    for (const Piece& piece : pieces_) {
      const bool inside = piece.kind == Piece::Kind::bytes || piece.kind == Piece::Kind::fill;
      if (inside) {
        mark = mix64(mark ^ crc32c(piece.inline_bytes));
        continue;
      }
      const Extent extent = piece.kind == Piece::Kind::extent ? piece.extent : source_.block(piece.block).extent;
      for (const std::uint64_t part : {of_file(extent.file), extent.offset, piece.offset, piece.length})
        mark = mix64(mark ^ part) + 1;
    }
    return mark;
  }

  std::uint64_t of_file(std::uint32_t file) const {
    return mark_of_file_ ? mark_of_file_(source_.file(file).path) : source_.mark(file);
  }

  const Dataset& source_;
  const PackedFields& fields_;
  const Share& share_;
  const std::function<std::uint64_t(const fs::path&)>& mark_of_file_;
  std::vector<Piece> pieces_;
};

/// Progress callback. Packing also calls it while a shard is uploaded to a store.
struct Told {
  const std::function<bool(const ConvertProgress&)>& progress;
  ConvertProgress now = {};

  bool again() const { return !progress || progress(now); }
  // Throws Error: resource, if the callback ends packing.
  void go_on(const fs::path& destination) const {
    if (again()) return;
    throw Error::resource("interrupted; resume continues after the last complete shard",
                          {.dataset = destination.string()});
  }
};

ConvertResult pack(const Dataset& source, const PackedFields& fields, const Share& share, DatasetWriter& writer,
                   const ConvertOptions& options, Told& told) {
  ConvertResult result;
  result.resumed = writer.resumed_samples();
  told.now = {result.resumed, share.samples.size(), writer.bytes()};
  const std::uint64_t position = position_after(source, share, writer.last_key());
  LoaderOptions chosen = loader_options(source, fields, options);
  chosen.subset.emplace(share.samples.begin() + static_cast<std::ptrdiff_t>(position), share.samples.end());
  if (!chosen.subset->empty()) {
    Loader loader(source, chosen);
    std::optional<ValueRecoder> recoder;
    if (!options.recoding.keeps_all()) recoder.emplace(fields, options.recoding, loader.options().workers);
    Packer packer(source, fields, share, position, writer, skips_bad(options), recoder ? &*recoder : nullptr);
    const auto go_on = [&] { told.go_on(writer.destination()); };
    while (const std::optional<Batch> batch = loader.next(go_on)) {
      packer.add(*batch);
      told.now = {result.resumed + packer.samples(), share.samples.size(), writer.bytes()};
      go_on();
    }
    result.samples = packer.samples();
    result.bad = packer.bad();
    if (recoder) result.kept = recoder->kept();
  }
  writer.finish();
  result.bytes = writer.bytes();
  result.skipped = writer.skipped();
  return result;
}

/// Full shards are completed on the thread `completing`. The writer keeps references to it and to `told`.
DatasetWriterOptions writer_options(const PackedFields& fields, const ConvertOptions& options, const Json& made_with,
                                    SourceMarks& marks, SerialExecutor& completing, const Told& told) {
  return {.format = options.format,
          .shard_size = options.shard_size,
          .align = options.align,
          .fields = fields.schemas(),
          .classes = fields.classes(),
          .made_with = made_with.dump(),
          .overwrite = options.overwrite,
          .resume = options.resume,
          .source_of = [&marks](std::string_view key) { return marks.of(key); },
          .in_background = [&completing](std::function<void()> work) { return completing.begin(std::move(work)); },
          .spool = options.spool,
          .keep_unfinished = options.keep_unfinished,
          .go_on = [&told] { return told.again(); }};
}

/// Returns the manifest entry of a finished part that identifies the values from which it was made.
Json made_of(const std::string& values) {
  return {{"part", {{"values", values}}}};
}

/// Returns the result recorded in `folder` if an earlier run finished this part from the same `values`, for `resume`.
/// Returns nothing if no finished part exists, or if the values have changed since. Throws Error: invalid_argument, if
/// the part was made with other options.
std::optional<ConvertResult> finished_part(const fs::path& folder, const Json& made_with, const std::string& values) {
  if (!fs::exists(folder / Manifest::kFileName)) return std::nullopt;
  const Dataset part = open(folder);
  const Manifest manifest = Manifest::from_json(part.attributes());
  std::string then = values;  // if the part records no values
  try {
    Json made_then = Json::parse(manifest.made_with);
    if (made_then.contains("part") && made_then["part"].contains("values")) {
      then = made_then["part"]["values"].get<std::string>();
      made_then["part"].erase("values");
    }
    require_same_options(made_then.dump(), made_with.dump(), "was packed with other options");
  } catch (const Json::exception& error) {
    throw Error::corrupt("not what packing wrote: " + json_cause(error), {.dataset = folder.string()});
  } catch (const Error& error) {
    throw error.in({.dataset = folder.string()});
  }
  if (then != values) return std::nullopt;
  ConvertResult result;
  result.resumed = manifest.samples;
  for (const ManifestShard& shard : manifest.shards) result.bytes += shard.bytes;
  result.skipped = count_lines(read_skip_report(folder));
  return result;
}

// Parts are joined by renaming, which object stores do not support.
void require_disk_for_parts(const fs::path& destination) {
  if (const auto address = store_destination(destination)) {
    throw Error::unsupported(
        "parts must be packed to a disk that all ranks can read; copy the result to a store with penstock stage",
        {.dataset = *address});
  }
  require_writable_place(destination);
}

ConvertResult convert_part(KeyOrder keyed, const fs::path& destination, const ConvertOptions& options,
                           const std::function<bool(const ConvertProgress&)>& progress) {
  if (options.rank >= options.world) {
    throw Error::invalid_argument("rank " + std::to_string(options.rank) + " must be less than world, which is " +
                                  std::to_string(options.world));
  }
  require_disk_for_parts(destination);
  if (!options.report.empty())
    throw Error::invalid_argument("the report covers all ranks; pass report when you join the parts");
  if (!options.overwrite) require_absent(destination);
  const Format* format = format_named(options.format);
  if (format == nullptr) throw Error::invalid_argument("unknown format: " + options.format);
  const Dataset& source = keyed.dataset;
  Told told{progress, {0, keyed.samples.size(), 0}};
  const PackedFields fields(source, options, [&] { told.go_on(destination); });
  const ShardPlan plan(source, fields, std::move(keyed.samples), *format, options.shard_size, options.align);
  const Share share = share_of(plan, options.rank, options.world);
  const Json made = made_with(source, fields, options, plan, share);
  const fs::path folder = place_of_part(destination, options.rank, options.world);
  SourceMarks marks(source, fields, share, options);
  const std::string values = marks.of_all();
  if (options.resume) {
    if (const auto finished = finished_part(folder, made, values)) return *finished;
  }
  SerialExecutor completing(kCompleting);
  DatasetWriterOptions chosen = writer_options(fields, options, made, marks, completing, told);
  chosen.planned = true;
  chosen.made_of = made_of(values).dump();
  chosen.overwrite = options.overwrite || options.resume;  // also replaces a finished part whose values changed
  DatasetWriter writer(folder, chosen);
  return pack(source, fields, share, writer, options, told);
}

void write_report(const fs::path& report, const std::string& text) {
  write_atomically(report, std::as_bytes(std::span(text.data(), text.size())));
}

ConvertResult convert_all(KeyOrder keyed, const fs::path& destination, const ConvertOptions& options,
                          const std::function<bool(const ConvertProgress&)>& progress) {
  const Dataset& source = keyed.dataset;
  if (!store_destination(destination))  // before anything is read
    DatasetWriter::require_free(destination, options.format, options.overwrite, options.resume);
  Told told{progress, {0, keyed.samples.size(), 0}};
  const PackedFields fields(source, options, [&] { told.go_on(destination); });
  SerialExecutor completing(kCompleting);
  const Share share{.samples = std::move(keyed.samples)};
  SourceMarks marks(source, fields, share, options);
  DatasetWriter writer(destination,
                       writer_options(fields, options, made_with(source, fields, options), marks, completing, told));
  const ConvertResult result = pack(source, fields, share, writer, options, told);
  if (!options.report.empty()) write_report(options.report, writer.report());
  return result;
}

}  // namespace

ConvertResult convert(const Dataset& given, const fs::path& destination, const ConvertOptions& asked,
                      const std::function<bool(const ConvertProgress&)>& progress) {
  ConvertOptions options = asked;
  options.recoding = resolved(asked.recoding, given);
  KeyOrder keyed = key_order(given);
  const std::string renamed_key = keyed.example;
  ConvertResult result = options.world != 0
                             ? convert_part(std::move(keyed), without_slash(destination), options, progress)
                             : convert_all(std::move(keyed), destination, options, progress);
  result.renamed_key = renamed_key;
  return result;
}

JoinedDataset finish_convert(const fs::path& destination, const FinishOptions& options) {
  require_disk_for_parts(destination);
  const JoinedDataset joined = join_parts(destination, options.overwrite);
  if (!options.report.empty()) write_report(options.report, read_skip_report(destination));
  return joined;
}

}  // namespace penstock
