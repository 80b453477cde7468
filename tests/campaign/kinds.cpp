#include "campaign/kinds.hpp"

#include <stdexcept>

#include <formats/io/hash.hpp>
#include <penstock/error.hpp>
#include <penstock/pack.hpp>
#include <transforms/recode/cloud_recoder.hpp>
#include <transforms/recode/jpeg_recoder.hpp>

#include "campaign/values.hpp"
#include "support/loading.hpp"
#include "support/picture_files.hpp"
#include "support/written_formats.hpp"

namespace penstock::campaign {
namespace {

namespace fs = std::filesystem;
using test::write_file;

constexpr std::uint32_t kSamples = 12;

std::string key_of(std::uint32_t number) {
  return (number % 2 == 0 ? "cat/" : "dog/") + test::number_key(number);
}

void write_source(const fs::path& folder, const std::string& content) {
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    const fs::path stem = folder / key_of(i);
    if (content == "pictures") write_file(stem.string() + ".png", test::png_picture(20 + i, 16, 3, i));
    if (content == "photographs") write_file(stem.string() + ".jpg", test::jpeg_picture(40 + i, 48, 3, i));
    if (content == "arrays") write_file(stem.string() + ".npy", array_value(i));
    if (content == "clouds") write_file(stem.string() + ".las", cloud_value(i));
    write_file(stem.string() + ".cls", std::to_string(i % 5));
  }
}

std::vector<Variant> variants_of(const std::string& content) {
  const FieldChain cls{"cls", label()};
  if (content == "arrays") {
    return {{"windows", {{"npy", array::random_slice(3)}, cls}, {}}, {"bytes", {{"npy", raw()}, cls}, {}}};
  }
  if (content == "clouds") {
    return {{"points", {{"las", points::sample(16) | points::center()}, cls}, {}},
            {"bytes", {{"las", raw()}, cls}, {}}};
  }
  const std::string field = content == "pictures" ? "png" : "jpg";
  return {{"crops",
           {{field, image::random_resized_crop(12) | image::random_horizontal_flip() |
                        image::normalize({0.5F, 0.4F, 0.3F}, {0.25F, 0.2F, 0.3F})},
            cls},
           {}},
          {"whole", {{field, image::resize(16, 16)}, cls}, {}},
          {"bytes", {{field, raw()}}, {}}};
}

Rows expected_rows(const Dataset& dataset, const Variant& variant) {
  Rows rows;
  Loader loader(dataset, {.batch_size = 5, .seed = kSeed, .workers = 1, .transforms = variant.fields});
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    loader.set_epoch(epoch);
    while (const auto batch = loader.next()) {
      for (std::uint32_t row = 0; row < batch->size(); ++row)
        rows[{epoch, std::string(batch->keys()[row])}] = row_hash(*batch, row);
    }
  }
  return rows;
}

Kind finished(Kind kind, const std::string& content) {
  const Dataset dataset = open(kind.folder / kind.opens);  // leaves the sidecars of foreign ones
  for (Variant variant : variants_of(content)) {
    try {
      variant.expected = expected_rows(dataset, variant);
      kind.variants.push_back(std::move(variant));
    } catch (const Error&) {
      if (kind.covered) throw;  // without its index a packing may not tell what a value is
    }
  }
  return kind;
}

Kind packed_kind(const fs::path& folder, const Dataset& source, const std::string& format, const std::string& content,
                 const Recoding& recoding, const std::string& how) {
  Kind kind{.name = format + " " + content + how,
            .folder = folder / (format + "-" + content + how),
            .opens = "data",
            .covered = true,
            .variants = {}};
  fs::create_directories(kind.folder);
  ConvertOptions options;
  options.format = format;
  options.shard_size = 64 << 10;
  options.recoding = recoding;
  options.workers = 1;
  convert(source, kind.folder / kind.opens, options);
  return finished(std::move(kind), content);
}

// A shard alone, as another program would have written it.
Kind foreign_kind(const fs::path& folder, const Kind& packed, const std::string& format, const std::string& content) {
  Kind kind{.name = "foreign " + format + " " + content,
            .folder = folder / ("foreign-" + format + "-" + content),
            .opens = {},
            .covered = false,
            .variants = {}};
  fs::create_directories(kind.folder);
  const fs::path from = packed.folder / packed.opens;
  if (format == "mds") {
    kind.opens = "data";
    fs::create_directories(kind.folder / kind.opens);
    for (const auto& entry : fs::directory_iterator(from)) {
      if (entry.path().extension() == ".mds" || entry.path().filename() == "index.json")
        fs::copy(entry.path(), kind.folder / kind.opens / entry.path().filename());
    }
    return finished(std::move(kind), content);
  }
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("shard-000000.", 0) != 0 || name.ends_with(".idx")) continue;
    fs::copy(entry.path(), kind.folder / name, fs::copy_options::recursive);
    kind.opens = name;
  }
  if (kind.opens.empty()) throw std::runtime_error("no shard in " + from.string());
  return finished(std::move(kind), content);
}

}  // namespace

std::uint64_t row_hash(const Batch& batch, std::uint32_t row) {
  std::string bytes;
  for (const Field& field : batch.fields()) {
    const auto* data = reinterpret_cast<const char*>(field.values.data);
    if (field.offsets.empty()) {
      const std::size_t each = field.values.bytes() / batch.size();
      bytes.append(data + row * each, each);
      continue;
    }
    const auto items = static_cast<std::size_t>(field.offsets.back());
    const std::size_t each = items == 0 ? 0 : field.values.bytes() / items;
    const auto first = static_cast<std::size_t>(field.offsets[row]),
               last = static_cast<std::size_t>(field.offsets[row + 1]);
    bytes.append(data + first * each, (last - first) * each);
  }
  return hash64(bytes);
}

std::vector<Kind> make_kinds(const fs::path& folder) {
  std::vector<Kind> kinds;
  for (const std::string content : {"pictures", "photographs", "arrays", "clouds"}) {
    const fs::path source_folder = folder / ("folder-" + content) / "data";
    write_source(source_folder, content);
    kinds.push_back(finished({.name = "folder " + content,
                              .folder = source_folder.parent_path(),
                              .opens = "data",
                              .covered = false,
                              .variants = {}},
                             content));
    const Dataset source = open(source_folder);
    for (const std::string& format : test::written_formats()) {
      kinds.push_back(packed_kind(folder, source, format, content, {}, ""));
      const Kind packed = kinds.back();
      kinds.push_back(foreign_kind(folder, packed, format, content));
    }
    Recoding recoding;
    if (content == "photographs") recoding.jpeg = jpeg_recoding("recode", 0);
    if (content == "clouds") recoding.clouds = cloud_recoding("", "progressive", "");
    if (!recoding.keeps_all()) kinds.push_back(packed_kind(folder, source, "tar", content, recoding, " made over"));
  }
  return kinds;
}

}  // namespace penstock::campaign
