#include <algorithm>
#include <array>

#include <formats/format.hpp>
#include <pack/option_table.hpp>
#include <transforms/recode/cloud_recoder.hpp>
#include <transforms/recode/jpeg_recoder.hpp>
#include <transforms/recode/pixel_recoder.hpp>

namespace penstock {
namespace {

constexpr std::string_view kShards = "Shards", kLabels = "Labels", kImages = "Images", kClouds = "Point clouds",
                           kRun = "The run", kParts = "Several processes";
constexpr unsigned kPython = kOfPack | kOfWriter | kOfClusters, kAll = kPython | kOfCommand,
                   kNotWriter = kOfPack | kOfClusters | kOfCommand;

using C = ConvertOptions;
using Bytes = PackOption::Bytes;
using ByHand = PackOption::ByHand;
using Text = PackOption::Text;
using option::in;
using option::Words;

constexpr PackOption::Words kFormats{
    .get = [](const C& options) { return std::string_view(options.format); },
    .set =
        [](C& options, std::string_view word) {
          options.format = word;
          return std::ranges::count(kFormats.known(), word) != 0;
        },
    .known =
        [] {
          std::vector<std::string_view> names;
          for (const Format& format : formats())
            if (format.write != nullptr) names.push_back(format.name);
          return names;
        },
};

constexpr PackOption::Words kPointOrders{
    .get = [](const C& options) { return order_text(options.recoding.clouds); },
    .set =
        [](C& options, std::string_view word) {
          if (std::ranges::count(kPointOrders.known(), word) == 0) return false;
          options.recoding.clouds.order = cloud_recoding("", word, "none").order;
          return true;
        },
    .known =
        [] {
          return std::vector<std::string_view>{"keep", "progressive", "stratified"};
        },
};

constexpr auto kOptions = std::to_array<PackOption>({
    {kShards, "format", kFormats, "Format of the shards: {words}.", kAll},
    {kShards, "shard_size", Bytes{in<&C::shard_size>()}, "Bytes after which a new shard begins.", kAll},
    {kShards, "align", Bytes{in<&C::align>()},
     "Samples begin at a multiple of this number of bytes (tar, zip). 4096 suits O_DIRECT.", kAll},
    {kShards, "temp_dir", in<&C::spool>(),
     "Folder of temporary files: decompressed sources, samples of a writer, shards on their way to a store. Default: "
     "next to the destination; for a store: $TMPDIR.",
     kOfPack | kOfWriter | kOfCommand},
    {kShards, "overwrite", in<&C::overwrite>(),
     "Replaces a dataset at the destination once the new one is complete. In a store, the old one is removed first.",
     kAll},

    {kLabels,
     "labels",
     in<&C::labels>(),
     "\"FILE\" or \"FILE:COLUMN\" (csv, txt, json, pkl) with the labels of the samples.",
     kAll,
     {"str", "''"}},
    {kLabels,
     "classes",
     in<&C::classes>(),
     "Names of the classes, in the order of their numbers.",
     kPython,
     {"collections.abc.Sequence[str]", "()"}},
    {kLabels, "classes", ByHand{}, "FILE with the names of the classes, one a line, or a DATASET that has them.",
     kOfCommand},
    {kLabels, "fields", ByHand{"collections.abc.Sequence[str] | collections.abc.Mapping[str, str] | None", "None"},
     "Names of the parts of tuples (\"jpg\", \"cls\"), or the field of each column {\"image\": \"jpg\"}.", kOfPack},

    {kImages, "jpeg",
     Text{.get = [](const C& options) { return policy_text(options.recoding.jpeg); },
          .set =
              [](C& options, std::string_view text) {
                options.recoding.jpeg = jpeg_recoding(text, options.recoding.jpeg.max_side);
              }},
     "\"keep\" stores JPEG files as they are. \"recode\" stores them in a code with identical pixels that decodes "
     "about twice as fast; \"original\" restores the files. \"baseline\" converts progressive files to baseline files "
     "with identical pixels, which decode twice as fast. \"quality:Q\" re-encodes them.",
     kAll},
    {kImages, "max_side", in<&C::recoding, &Recoding::jpeg, &JpegRecoding::max_side>(),
     "JPEG files with a longer side are shrunk to this many pixels, with the quality of `jpeg` or 90. 0: never.", kAll},
    {kImages, "decode",
     Text{.get = [](const C& options) { return decode_text(options.recoding.pixels); },
          .set = [](C& options, std::string_view text) { options.recoding.pixels = pixel_recoding(text); },
          .bare = "same"},
     "Stores images as pixels, uint8 (height, width, 3), which load at the speed of a copy. 256 or \"HEIGHTxWIDTH\" "
     "resizes and crops them to one size. \"same\" keeps their size, which must be equal; True and --decode without a "
     "size do the same. \"jpg=256\" names the field.",
     kAll},
    {kImages, "quality", ByHand{"int", "95"}, "Quality, 1 to 100, of images that are encoded as jpg or webp.",
     kOfPack | kOfWriter},

    {kClouds, "presample",
     Text{.get = [](const C& options) { return presample_text(options.recoding.clouds); },
          .set =
              [](C& options, std::string_view text) {
                options.recoding.clouds.presample = cloud_recoding(text, "keep", "none").presample;
              }},
     "The points kept of each cloud: \"fps:4096\", \"random:N\", \"stratified:N\", \"inverse_density:N\", "
     "\"voxel:SIZE\" or \"poisson:SIZE\". \"voxel:0.05,fps:4096\" applies one after the other.",
     kAll},
    {kClouds, "point_order", kPointOrders,
     "Order of points: {words}. If \"progressive\", each run of points is a random sample, so that a loader reads only "
     "the points that it needs. If \"stratified\", each run covers the cloud evenly.",
     kAll},
    {kClouds, "point_attributes",
     Text{.get = [](const C& options) { return attributes_text(options.recoding.clouds); },
          .set =
              [](C& options, std::string_view text) {
                options.recoding.clouds.attributes = cloud_recoding("", "keep", text).attributes;
              }},
     "Attributes of points kept beside x, y, z by `presample` and `point_order`: \"none\", \"all\", or names with "
     "commas.",
     kAll},

    {kRun, "workers", in<&C::workers>(), "Threads. 0: all usable cores.", kOfPack | kOfWriter | kOfCommand},
    {kRun, "workers", in<&C::workers>(), "Threads of each part.", kOfClusters, {"int", "1"}},
    {kRun, "on_error", Words<&C::on_error>::of<PackOnError::raise, PackOnError::skip>(),
     "\"raise\", or \"skip\" to leave out samples that cannot be read. skipped.jsonl of the dataset lists them.",
     kNotWriter},
    {kRun,
     "report",
     in<&C::report>(),
     "File for the samples that were skipped, one JSON object a line.",
     kNotWriter,
     {"str | os.PathLike", "''"}},
    {kRun, "resume", in<&C::resume>(), "Continues an interrupted run after its last complete shard.", kNotWriter},
    {kRun, "progress", ByHand{"bool | collections.abc.Callable[[int, int, int], object]", "True"},
     "True for a bar on stderr, or a function of (samples, total, bytes).", kPython},

    {kParts, "rank", ByHand{"int | str | None", "None"},
     "Number of the part that this process packs, from 0. \"env\" takes rank and world from torchrun, MPI or Slurm. "
     "finish_pack(), or `penstock pack-join`, joins the parts.",
     kOfPack | kOfCommand},
    {kParts, "world", in<&C::world>(), "Number of parts.", kOfPack | kOfCommand, {"int | None", "None"}},
    {kParts, "parts", ByHand{"int | None", "None"},
     "Number of parts. None: as many as the cluster has threads for; with `resume`, as many as there were.",
     kOfClusters},
    {kParts, "retries", ByHand{"int", "2"},
     "New attempts for a part that failed for other reasons than its data, or whose process died. They continue after "
     "its last complete shard.",
     kOfClusters},
});

}  // namespace

std::span<const PackOption> pack_options() {
  return kOptions;
}

std::vector<const PackOption*> pack_options_of(PackApi api) {
  std::vector<const PackOption*> options;
  for (const PackOption& option : kOptions)
    if ((option.apis & api) != 0) options.push_back(&option);
  return options;
}

PythonValue python_value(const PackOption& option) {
  if (option.python.type.empty()) return std::visit(InPython<ConvertOptions>{}, option.member);
  return {std::string(option.python.type), std::string(option.python.value)};
}

std::string pack_options_for_python(PackApi api) {
  std::string text;
  for (const PackOption* option : pack_options_of(api)) text += help_entry(option->name, meaning_of(*option));
  return text;
}

std::string_view name(PackOnError policy) {
  return policy == PackOnError::skip ? "skip" : "raise";
}

}  // namespace penstock
