#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/index/index.hpp>
#include <formats/index/index_folder.hpp>
#include <formats/places/seen_places.hpp>
#include <formats/sidecar/sidecar.hpp>
#include <formats/sidecar/stored_index.hpp>
#include <formats/tar/tar.hpp>
#include <penstock/error.hpp>

#include "fuzz/targets.hpp"
#include "support/folder_store.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::fuzz {
namespace {

constexpr const char* kShard = "s3://bucket/shard-000000.tar";
constexpr std::size_t kKeptHeader = 64;

Index none_made(const std::filesystem::path&, const std::filesystem::path&, const OpenProgress&) {
  throw Error::corrupt("what was kept is no index of it");
}

// Tar, but for making indexes: one that is refused is the end of an input.
Format tar_as_kept() {
  Format format = kTar;
  format.index = none_made;
  return format;
}

std::string kept_header(const std::filesystem::path& place) {
  const SeenPlaces::Use none(nullptr);
  SeenPlaces seen;
  const SeenPlaces::Use use(&seen);
  Format format = kTar;
  format.index = [](const auto&, const auto&, const auto&) { return IndexBuilder().finish(); };
  stored_index(format, kShard, {}, {});
  return test::read_file(place).substr(0, kKeptHeader);
}

void read_some(StoredIndex found) {
  for (std::uint32_t file = 0; file < found.index.file_count(); ++file)
    require(found.index.file(file).path == "shard-000000.tar", "an index that names another file than its shard");
  require(found.objects.size() == found.index.file_count(), "an index with other objects than files");
  std::vector<Dataset::Shard> shards;
  auto pins = pins_of(found.objects);
  shards.push_back({.index = std::move(found.index),
                    .root = root_of(kShard),
                    .name = "shard",
                    .pins = std::move(pins),
                    .objects = std::move(found.objects)});
  const Dataset dataset("s3://bucket", "tar", std::move(shards), {}, false);
  read_dataset(dataset, 8);  // a thread each
}

}  // namespace

// What is kept behind the header that says of which state of the shard it is.
void kept_index(Input input) {
  ::setenv("PENSTOCK_INDEX_DIR", (folder() / "kept").c_str(), 1);
  test::FolderStore store(folder() / "store");
  const std::filesystem::path place = place_in_index_folder(kShard, kSidecarEnding);
  static const std::string header = [&] {
    test::write_file(folder() / "store" / "bucket" / "shard-000000.tar", std::string(4096, 'x'));
    return kept_header(place);
  }();
  static const Format format = tar_as_kept();
  const std::vector<std::byte> repaired = repaired_index(input);
  for (const Input bytes : {input, Input(repaired)}) {
    test::write_file(place, header + std::string(text_of(bytes)));
    SeenPlaces seen;
    const SeenPlaces::Use use(&seen);
    try {
      read_some(stored_index(format, kShard, {}, {}));
    } catch (const Error&) {
    }
  }
}

}  // namespace penstock::fuzz
