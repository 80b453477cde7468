#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include <penstock/formats/atomic_file.hpp>
#include <penstock/formats/crc32c.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/formats/file_lock.hpp>
#include <penstock/formats/hash.hpp>
#include <penstock/formats/mapping.hpp>
#include <penstock/formats/sidecar.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// A sidecar is these 64 bytes and then the bytes of an .idx file.
struct SidecarHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t crc;  // of the header with this field 0
  std::uint64_t size;
  std::uint64_t stamp;
  std::uint64_t name_hash;  // of the shard's file name, which its index repeats
  char format[16];
  std::uint64_t reserved;

  friend bool operator==(const SidecarHeader&, const SidecarHeader&) = default;
};
static_assert(sizeof(SidecarHeader) == 64);
constexpr std::uint64_t kMagic = 0x0A52414344534E50;  // "PNSDCAR\n"
constexpr std::uint32_t kVersion = 1;

SidecarHeader describe(const Format& format, const fs::path& shard) {
  SidecarHeader header{.magic = kMagic,
                       .version = kVersion,
                       .crc = 0,
                       .size = 0,
                       .stamp = format.stamp(shard),
                       .name_hash = 0,
                       .format = {},
                       .reserved = 0};
  std::error_code ignored;
  if (fs::is_regular_file(shard, ignored)) {
    header.size = fs::file_size(shard, ignored);
    header.name_hash = hash64(shard.filename().string());
  }
  std::memcpy(header.format, format.name.data(), std::min(format.name.size(), sizeof(header.format)));
  header.crc = crc32c(std::as_bytes(std::span(&header, 1)));
  return header;
}

std::optional<Index> open_matching(const fs::path& sidecar, const SidecarHeader& wanted) {
  std::error_code ignored;
  if (!fs::exists(sidecar, ignored)) return std::nullopt;
  try {
    const Mapping mapping(sidecar);
    SidecarHeader found{};
    if (mapping.bytes().size() < sizeof(found)) return std::nullopt;
    std::memcpy(&found, mapping.bytes().data(), sizeof(found));
    if (found != wanted) return std::nullopt;
    return Index::open(sidecar, sizeof(SidecarHeader));
  } catch (const Error&) {
    return std::nullopt;  // broken or not readable: it is made again
  }
}

// Keeps the index at `sidecar` and gives back the mapped one, or the index itself where that fails (a full disk).
Index keep(Index index, const fs::path& sidecar, const SidecarHeader& header) {
  try {
    write_atomically(sidecar, {std::as_bytes(std::span(&header, 1)), index.bytes()});
    return Index::open(sidecar, sizeof(SidecarHeader));
  } catch (const Error&) {
    return index;
  }
}

fs::path cache_folder() {
  if (const char* folder = std::getenv("PENSTOCK_INDEX_DIR"); folder != nullptr && *folder != '\0') return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "penstock";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache" / "penstock";
  }
  return {};
}

// Root may write where nobody is meant to; a folder that is marked read-only is left alone all the same.
bool marked_read_only(const fs::path& folder) {
  constexpr fs::perms any_write = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  std::error_code failed;
  const fs::file_status status = fs::status(folder.empty() ? fs::path(".") : folder, failed);
  return !failed && fs::exists(status) && (status.permissions() & any_write) == fs::perms::none;
}

fs::path beside(const fs::path& shard) {
  std::error_code ignored;
  if (fs::is_directory(shard, ignored)) return shard / kSidecarEnding;
  return fs::path(shard.string().append(kSidecarEnding));
}

}  // namespace

fs::path root_of(const fs::path& shard) {
  std::error_code ignored;
  if (fs::is_directory(shard, ignored)) return shard;
  return shard.has_parent_path() ? shard.parent_path() : fs::path(".");
}

std::vector<fs::path> sidecar_paths(const fs::path& shard) {
  std::vector<fs::path> paths{beside(shard)};
  if (const fs::path cache = cache_folder(); !cache.empty()) {
    std::error_code ignored;
    const fs::path absolute = fs::weakly_canonical(shard, ignored);
    paths.push_back(
        cache / (absolute.filename().string() + "-" + hexadecimal(hash64(absolute.string())).append(kSidecarEnding)));
  }
  return paths;
}

void keep_sidecar(const Format& format, const fs::path& shard, const Index& index) {
  const SidecarHeader wanted = describe(format, shard);
  const fs::path place = beside(shard);
  if (open_matching(place, wanted)) return;
  try {
    write_atomically(place, {std::as_bytes(std::span(&wanted, 1)), index.bytes()});
  } catch (const Error&) {  // whoever opens the copy makes one
  }
}

Index sidecar_index(const Format& format, const fs::path& shard, const OpenProgress& progress) {
  const SidecarHeader wanted = describe(format, shard);
  const std::vector<fs::path> places = sidecar_paths(shard);
  for (const fs::path& place : places) {
    if (auto index = open_matching(place, wanted)) return std::move(*index);
  }
  for (const fs::path& place : places) {
    std::error_code ignored;
    fs::create_directories(place.parent_path(), ignored);
    if (marked_read_only(place.parent_path())) continue;
    const auto lock = FileLock::wait(place.string() + ".lock");
    if (!lock) continue;
    if (auto index = open_matching(place, wanted)) return std::move(*index);  // made while we waited
    return keep(format.index(shard, root_of(shard), progress), place, wanted);
  }
  return format.index(shard, root_of(shard), progress);
}

}  // namespace penstock
