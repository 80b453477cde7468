#include <string>
#include <utility>

#include <penstock/formats/error.hpp>
#include <penstock/formats/file_bytes.hpp>
#include <penstock/formats/manifest.hpp>
#include <penstock/formats/packed.hpp>
#include <penstock/formats/shard_sum.hpp>

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

}  // namespace

Dataset open_packed(const std::filesystem::path& folder) {
  const std::string manifest_name(Manifest::kFileName);
  std::string text;
  Manifest manifest = in_shard(folder, manifest_name, [&] {
    const FileBytes file(folder / manifest_name);
    text.assign(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    file.require_whole();
    return Manifest::from_json(text);
  });

  std::vector<Dataset::Shard> shards;
  std::uint64_t samples = 0;
  for (const ManifestShard& entry : manifest.shards) {
    shards.push_back(in_shard(folder, entry.name, [&] {
      Index index = Index::open(folder / index_name(entry.name));
      check_shard(folder, entry, index);
      return Dataset::Shard{.index = std::move(index), .root = folder, .name = entry.name};
    }));
    samples += entry.samples;
  }
  if (samples != manifest.samples) {
    throw Error::corrupt("its shards do not add up to its number of samples",
                         {.dataset = folder.string(), .shard = manifest_name});
  }
  return Dataset(folder, std::move(manifest.format), std::move(shards), std::move(manifest.classes), true,
                 std::move(text));
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
    if (describe_shard(opened.root, wanted.name, opened.index) != wanted) {
      throw Error::corrupt("its bytes are not those it was packed with (checksum of the shard)");
    }
  });
}

}  // namespace penstock
