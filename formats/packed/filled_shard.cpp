#include <optional>

#include <formats/index/index.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/packed/filled_shard.hpp>
#include <formats/packed/shard_sum.hpp>
#include <penstock/error.hpp>

namespace penstock {

ManifestShard complete(const std::filesystem::path& folder, FilledShard& shard) {
  const Index index = shard.writer->finish();
  std::optional<std::uint32_t> sum;
  if (const ObjectStream* const object = shard.writer->object()) sum = object->crc32c();
  shard.in_store = sum.has_value();
  shard.writer.reset();
  if (index.size() != shard.samples) {
    throw Error::corrupt("the shard lost samples while it was written", {.shard = shard.name});
  }
  write_synced(folder / index_name(shard.name), index.bytes());
  ManifestShard entry =
      sum ? describe_stored_shard(shard.name, index, *sum) : describe_written_shard(folder, shard.name, index);
  if (std::filesystem::is_directory(folder / shard.name)) sync_folder(folder / shard.name);
  if (!shard.last) sync_folder(folder);
  return entry;
}

}  // namespace penstock
