#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <base/handled_error.hpp>
#include <base/parallel_for.hpp>
#include <formats/dataset.hpp>
#include <formats/index/index.hpp>
#include <formats/index/index_folder.hpp>
#include <formats/io/hash.hpp>
#include <formats/packed/combined_index.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/packed.hpp>
#include <formats/packed/shard_sum.hpp>
#include <formats/packed/stored_dataset.hpp>
#include <formats/places/places.hpp>
#include <formats/places/seen_places.hpp>
#include <formats/sidecar/stored_index.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeptEnding = ".penstock-idxs";
constexpr unsigned kFetchedAtOnce = 16;

std::string text_at(const fs::path& place) {
  const FileBytes file = read_place(place);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class StoredIndexes {
 public:
  StoredIndexes(const fs::path& folder, const Manifest& manifest, std::string_view text)
      : folder_(folder),
        manifest_(manifest),
        manifest_hash_(hash64(text)),
        kept_(place_in_index_folder(folder, kKeptEnding)) {}

  std::vector<Index> get() {
    if (auto kept = from_kept()) return std::move(*kept);
    if (manifest_.shards.size() > 1) {
      if (auto combined = from_combined()) return std::move(*combined);
    }
    return one_by_one();
  }

 private:
  std::optional<std::vector<Index>> from_kept() const {
    if (kept_.empty()) return std::nullopt;
    try {
      auto file = read_kept(kept_);
      if (!file) return std::nullopt;
      return combined_indexes(std::make_shared<const FileBytes>(std::move(*file)), kept_, manifest_, manifest_hash_);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // The object may belong to another dataset if a program copied only some files. In that case it is not used.
  std::optional<std::vector<Index>> from_combined() const {
    const fs::path place = folder_ / kCombinedIndexName;
    auto bytes = SeenPlaces::current()->read_whole(place.native(), kLongestCombinedIndex + (std::uint64_t{1} << 20));
    if (!bytes) return std::nullopt;
    const auto file = std::make_shared<const FileBytes>(std::move(*bytes), place);
    auto indexes = combined_indexes(file, place, manifest_, std::nullopt);
    if (!indexes) return std::nullopt;
    return kept(std::move(*indexes));
  }

  std::vector<Index> one_by_one() const {
    std::vector<std::optional<Index>> fetched(manifest_.shards.size());
    SeenPlaces* const seen = SeenPlaces::current();
    const auto fetch = [&](std::uint64_t i) {
      const SeenPlaces::Use use(seen);
      const std::string& name = manifest_.shards[i].name;
      try {
        const fs::path place = folder_ / index_name(name);
        fetched[i] = Index::open(read_place(place), place);
      } catch (...) {
        throw handled_error({.dataset = folder_.string(), .shard = name});
      }
    };
    parallel_for(fetched.size(), kFetchedAtOnce, fetch);
    std::vector<Index> indexes;
    for (auto& index : fetched) indexes.push_back(std::move(*index));
    return kept(std::move(indexes));
  }

  // Stores the indexes on this machine and returns the stored ones if possible: large ones are then mapped. A failure
  // only makes the next open slower.
  std::vector<Index> kept(std::vector<Index> indexes) const {
    std::vector<std::uint64_t> lengths;
    std::uint64_t total = 0;
    for (const Index& index : indexes) total += lengths.emplace_back(index.bytes().size());
    if (kept_.empty() || total > kLongestCombinedIndex) return indexes;
    std::vector<std::byte> all = combined_index_header(lengths, manifest_hash_);
    for (const Index& index : indexes) {
      all.insert(all.end(), index.bytes().begin(), index.bytes().end());
      all.resize(all.size() + gap_to_eight(index.bytes().size()));
    }
    if (!keep_at(kept_, {all})) return indexes;
    auto again = from_kept();
    return again ? std::move(*again) : std::move(indexes);
  }

  const fs::path& folder_;
  const Manifest& manifest_;
  const std::uint64_t manifest_hash_;
  const fs::path kept_;
};

// Returns the objects of a shard's files. A web server is not asked for them: the first response determines the
// version, and the shard's checksum identifies the content.
std::vector<std::shared_ptr<const StoredObject>> objects_of(const fs::path& folder, const ManifestShard& shard,
                                                            const Index& index) {
  std::vector<std::shared_ptr<const StoredObject>> objects;
  for (std::uint32_t number = 0; number < index.file_count(); ++number) {
    const IndexedFile file = index.file(number);
    const fs::path place = place_inside(folder, file.path);
    if (!lists_nothing(folder)) {
      objects.push_back(object_at(place));
      continue;
    }
    const std::string content =
        hexadecimal(shard.crc32c) + '-' + hexadecimal(shard.index) + '-' + std::to_string(number);
    auto object = std::make_shared<StoredObject>();
    object->address = place.native();
    object->info.size = file.size;
    object->content = content;
    object->seen = std::make_shared<FirstSeen>();
    objects.push_back(std::move(object));
  }
  return objects;
}

// Looks up all files of all shards together.
void expect_files(const fs::path& folder, const std::vector<Index>& indexes) {
  if (lists_nothing(folder)) return;
  std::vector<fs::path> places;
  for (const Index& index : indexes) {
    for (std::uint32_t number = 0; number < index.file_count(); ++number)
      places.push_back(place_inside(folder, index.file(number).path));
  }
  expect_places(places);
}

}  // namespace

Dataset open_stored_dataset(const fs::path& folder) {
  const std::string manifest_name(Manifest::kFileName);
  const auto in_manifest = [&](const auto& read) {
    try {
      return read();
    } catch (...) {
      throw handled_error({.dataset = folder.string(), .shard = manifest_name});
    }
  };
  std::string text = in_manifest([&] { return text_at(folder / manifest_name); });
  Manifest manifest = in_manifest([&] { return Manifest::from_json(text); });
  std::vector<Index> indexes = StoredIndexes(folder, manifest, text).get();
  expect_files(folder, indexes);
  std::vector<Dataset::Shard> shards;
  for (std::size_t i = 0; i < manifest.shards.size(); ++i) {
    const ManifestShard& entry = manifest.shards[i];
    try {
      std::size_t number = 0;
      std::vector<std::shared_ptr<const StoredObject>> objects = objects_of(folder, entry, indexes[i]);
      check_shard(folder, entry, indexes[i],
                  [&](const fs::path&, const IndexedFile&) { return objects.at(number++)->info.size; });
      auto pins = pins_of(objects);
      shards.push_back({.index = std::move(indexes[i]),
                        .root = folder,
                        .name = entry.name,
                        .pins = std::move(pins),
                        .objects = std::move(objects)});
    } catch (...) {
      throw handled_error({.dataset = folder.string(), .shard = entry.name});
    }
  }
  return dataset_of(folder, std::move(manifest), std::move(text), std::move(shards));
}

}  // namespace penstock
