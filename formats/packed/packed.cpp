#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include <formats/index/index.hpp>
#include <formats/index/shard_pins.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/io/file_identity.hpp>
#include <formats/packed/combined_index.hpp>
#include <formats/packed/packed.hpp>
#include <formats/packed/shard_sum.hpp>
#include <formats/places/places.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Adds the dataset and the shard to an error of `read`.
template <typename Read>
auto in_shard(const std::filesystem::path& folder, const std::string& shard, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw error.in({.dataset = folder.string(), .shard = shard});
  }
}

/// Checks the shard with one stat() for each file. If a file is touched after opening, its content must still match
/// penstock.json.
std::shared_ptr<const ShardPins> pins_of(const std::filesystem::path& folder, const ManifestShard& entry,
                                         const Index& index) {
  std::vector<FileIdentity> files;
  check_shard(folder, entry, index, [&](const std::filesystem::path& path, const IndexedFile&) {
    const auto identity = identity_by_name(path);
    if (!identity) throw Error::io(errno, "cannot read " + path.string());
    return files.emplace_back(*identity).size;
  });
  const auto prove = [folder, entry](const Index& known, std::uint32_t file, const FileIdentity& now) {
    return describe_shard(folder, entry.name, known) == entry && identity_of(folder / known.file(file).path) == now;
  };
  return std::make_shared<const ShardPins>(std::move(files), ShardPins::Options{.prove = prove, .of_content = true});
}

/// Reads one file instead of one for each shard, if penstock.idx belongs to this dataset.
std::vector<Index> indexes_of(const std::filesystem::path& folder, const Manifest& manifest) {
  const std::filesystem::path combined = folder / kCombinedIndexName;
  try {
    const auto file = std::make_shared<const FileBytes>(combined);
    if (auto indexes = combined_indexes(file, combined, manifest, std::nullopt)) return std::move(*indexes);
  } catch (const Error&) {  // the file may be missing
  }
  std::vector<Index> indexes;
  for (const ManifestShard& entry : manifest.shards) {
    indexes.push_back(in_shard(folder, entry.name, [&] { return Index::open(folder / index_name(entry.name)); }));
  }
  return indexes;
}

Dataset open_as_it_is(const std::filesystem::path& folder) {
  const std::string manifest_name(Manifest::kFileName);
  std::string text;
  Manifest manifest = in_shard(folder, manifest_name, [&] {
    const FileBytes file(folder / manifest_name);
    text.assign(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    file.require_whole();
    return Manifest::from_json(text);
  });

  std::vector<Index> indexes = indexes_of(folder, manifest);
  std::vector<Dataset::Shard> shards;
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    const ManifestShard& entry = manifest.shards[i];
    auto pins = in_shard(folder, entry.name, [&] { return pins_of(folder, entry, indexes[i]); });
    shards.push_back({.index = std::move(indexes[i]), .root = folder, .name = entry.name, .pins = std::move(pins)});
  }
  return dataset_of(folder, std::move(manifest), std::move(text), std::move(shards));
}

}  // namespace

Dataset dataset_of(const std::filesystem::path& folder, Manifest manifest, std::string text,
                   std::vector<Dataset::Shard> shards) {
  std::uint64_t samples = 0;
  for (const ManifestShard& entry : manifest.shards) samples += entry.samples;
  if (samples != manifest.samples) {
    throw Error::corrupt("its shards do not add up to its number of samples",
                         {.dataset = folder.string(), .shard = std::string(Manifest::kFileName)});
  }
  return Dataset(folder, std::move(manifest.format), std::move(shards), std::move(manifest.classes), true,
                 std::move(text));
}

// Ensures that the description, indexes and shards belong to one dataset, even if another one replaces it meanwhile.
Dataset open_packed(const std::filesystem::path& folder) {
  constexpr int kMostAttempts = 3;
  const auto described_by = [&] { return identity_of(folder / Manifest::kFileName); };
  for (int attempt = 1;; ++attempt) {
    const FileIdentity before = described_by();
    try {
      Dataset dataset = open_as_it_is(folder);
      if (described_by() == before) return dataset;
    } catch (const Error&) {
      if (attempt == kMostAttempts || described_by() == before) throw;
    }
    if (attempt == kMostAttempts) {
      throw Error::resource("was replaced repeatedly while it was opened", {.dataset = folder.string()});
    }
  }
}

void verify_shard(const Dataset& dataset, std::size_t shard) {
  if (!dataset.packed()) {
    throw Error::invalid_argument("only a packed dataset has checksums of its shards",
                                  {.dataset = dataset.path().string()});
  }
  const Manifest manifest = Manifest::from_json(dataset.attributes());
  const ManifestShard& wanted = manifest.shards.at(shard);
  in_shard(dataset.path(), wanted.name, [&] {
    const Dataset::Shard& opened = dataset.shard(shard);
    opened.index.verify();
    const std::filesystem::path place = opened.root / index_name(wanted.name);
    if (is_file(opened.root / kCombinedIndexName) &&  // else the index was read from `place`
        !std::ranges::equal(Index::open(read_place(place), place).bytes(), opened.index.bytes())) {
      throw Error::corrupt("its .idx file has changed since it was packed");
    }
    if (describe_shard(opened.root, wanted.name, opened.index) != wanted) {
      throw Error::corrupt("its content has changed since it was packed (the checksum of the shard differs)");
    }
  });
}

}  // namespace penstock
