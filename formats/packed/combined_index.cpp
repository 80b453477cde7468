#include <cstring>
#include <string>

#include <formats/io/crc32c.hpp>
#include <formats/io/hash.hpp>
#include <formats/packed/combined_index.hpp>
#include <formats/streams/buffered_file.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// "PNSIDXS\n", version, checksum of the following bytes up to the indexes, hash of penstock.json, number of indexes;
// then the offset and the length of each index.
struct CombinedHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t crc;
  std::uint64_t manifest_hash;
  std::uint64_t count;
};
static_assert(sizeof(CombinedHeader) == 32);
struct CombinedEntry {
  std::uint64_t offset, length;
};
constexpr std::uint64_t kCombinedMagic = 0x0A53584449534E50;
constexpr std::uint32_t kCombinedVersion = 1;
constexpr std::size_t kCheckedFrom = 16;  // offset in the header

}  // namespace

std::vector<std::byte> combined_index_header(std::span<const std::uint64_t> lengths, std::uint64_t manifest_hash) {
  CombinedHeader header{.magic = kCombinedMagic,
                        .version = kCombinedVersion,
                        .crc = 0,
                        .manifest_hash = manifest_hash,
                        .count = lengths.size()};
  std::vector<std::byte> bytes(sizeof(header) + lengths.size() * sizeof(CombinedEntry));
  std::uint64_t at = bytes.size();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const CombinedEntry entry{.offset = at, .length = lengths[i]};
    std::memcpy(bytes.data() + sizeof(header) + i * sizeof(entry), &entry, sizeof(entry));
    at += lengths[i] + gap_to_eight(lengths[i]);
  }
  std::memcpy(bytes.data(), &header, sizeof(header));
  header.crc = crc32c(std::span(bytes).subspan(kCheckedFrom));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::optional<std::vector<Index>> combined_indexes(const std::shared_ptr<const FileBytes>& file, const fs::path& place,
                                                   const Manifest& manifest,
                                                   std::optional<std::uint64_t> manifest_hash) {
  const std::span<const std::byte> bytes = file->bytes();
  CombinedHeader header{};
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const std::size_t table = sizeof(header) + manifest.shards.size() * sizeof(CombinedEntry);
  const bool fits = header.magic == kCombinedMagic && header.version == kCombinedVersion &&
                    header.count == manifest.shards.size() && bytes.size() >= table &&
                    header.crc == crc32c(bytes.first(table).subspan(kCheckedFrom)) &&
                    header.manifest_hash == manifest_hash.value_or(header.manifest_hash);
  if (!fits) return std::nullopt;
  std::vector<Index> indexes;
  for (std::size_t i = 0; i < manifest.shards.size(); ++i) {
    CombinedEntry entry{};
    std::memcpy(&entry, bytes.data() + sizeof(header) + i * sizeof(entry), sizeof(entry));
    const bool inside = entry.offset % 8 == 0 && entry.offset <= bytes.size() &&
                        entry.length <= bytes.size() - entry.offset && entry.length >= 64;
    if (!inside || crc32c(bytes.subspan(entry.offset, 64)) != manifest.shards[i].index) return std::nullopt;
    try {
      indexes.push_back(Index::open(file, place, entry.offset, entry.length));
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return indexes;
}

void write_combined_index(const fs::path& folder, const Manifest& manifest) {
  fs::remove(folder / kCombinedIndexName);
  if (manifest.shards.size() < 2) return;
  std::vector<std::uint64_t> lengths;
  std::uint64_t total = 0;
  for (const ManifestShard& shard : manifest.shards)
    total += lengths.emplace_back(fs::file_size(folder / index_name(shard.name)));
  if (total > kLongestCombinedIndex) return;
  const std::string text = manifest.to_json();
  BufferedFile out(folder / kCombinedIndexName);
  out.append(combined_index_header(lengths, hash64(text)));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const FileBytes index(folder / index_name(manifest.shards[i].name));
    if (index.bytes().size() != lengths[i])
      throw Error::io(EIO, "changed while it was packed", {.shard = manifest.shards[i].name});
    out.append(index.bytes());
    index.require_whole();
    out.append_zeros(gap_to_eight(lengths[i]));
  }
  out.finish();
}

}  // namespace penstock
