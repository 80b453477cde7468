#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/packed/combined_index.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

constexpr std::size_t kHeader = 32, kEntry = 16, kShards = 2, kCheckedFrom = 16, kIndexHeader = 64;

// The file with the checksum of its header put right, and a manifest that has the checksums of the indexes in it.
std::vector<std::byte> repaired_combined(Input input, Manifest& manifest) {
  std::vector<std::byte> bytes(input.begin(), input.end());
  constexpr std::size_t kTable = kHeader + kShards * kEntry;
  if (bytes.size() < kTable) return bytes;
  const Input whole(bytes);
  const std::uint32_t crc = crc32c(whole.first(kTable).subspan(kCheckedFrom));
  std::memcpy(bytes.data() + 12, &crc, sizeof(crc));
  for (std::size_t i = 0; i < kShards; ++i) {
    std::uint64_t offset = 0;
    std::memcpy(&offset, bytes.data() + kHeader + i * kEntry, sizeof(offset));
    if (offset <= bytes.size() && bytes.size() - offset >= kIndexHeader)
      manifest.shards[i].index = crc32c(whole.subspan(offset, kIndexHeader));
  }
  return bytes;
}

void read_combined(std::vector<std::byte> bytes, const Manifest& manifest) {
  const auto file = std::make_shared<const FileBytes>(std::move(bytes), "penstock.idx");
  auto indexes = combined_indexes(file, "penstock.idx", manifest, std::nullopt);
  if (!indexes) return;
  require(indexes->size() == kShards, "other indexes than the manifest has shards");
  std::vector<Dataset::Shard> shards;
  for (Index& index : *indexes) {
    index.find("a");
    if (!names_files_here(index)) return;
    shards.push_back({.index = std::move(index), .root = folder(), .name = "shard"});
  }
  read_dataset(Dataset(folder(), "tar", std::move(shards), {}, true));
}

}  // namespace

// Extents of any file reach into the input's own bytes.
void combined_index(Input input) {
  as_file(input, "shard-000000.tar");
  Manifest manifest{.format = "tar",
                    .samples = 0,
                    .fields = {},
                    .classes = {},
                    .shards = {{.name = "shard-000000.tar"}, {.name = "shard-000001.tar"}}};
  std::vector<std::byte> repaired = repaired_combined(input, manifest);
  read_combined({input.begin(), input.end()}, manifest);
  read_combined(std::move(repaired), manifest);
}

}  // namespace penstock::fuzz
