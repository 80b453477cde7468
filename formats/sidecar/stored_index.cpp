#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <formats/index/index_folder.hpp>
#include <formats/index/sidecar_file.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/hash.hpp>
#include <formats/places/places.hpp>
#include <formats/places/stored_source.hpp>
#include <formats/sidecar/sidecar.hpp>
#include <formats/sidecar/stored_index.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// The file consists of these 64 bytes and the bytes of an .idx file.
struct KeptHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t crc;       // of the header, with 0 in this field
  std::uint64_t state[2];  // two hashes of address, version, length and time of each watched object
  char format[16];
  std::uint64_t reader;
  std::uint64_t reserved;

  friend bool operator==(const KeptHeader&, const KeptHeader&) = default;
};
static_assert(sizeof(KeptHeader) == 64);
constexpr std::uint64_t kKeptMagic = 0x0A5450454B534E50;  // "PNSKEPT\n"
constexpr std::uint32_t kKeptVersion = 1;

// Returns nothing if the states of an object cannot be distinguished.
std::optional<KeptHeader> header_of(const Format& format, const std::vector<fs::path>& watched) {
  KeptHeader header{.magic = kKeptMagic,
                    .version = kKeptVersion,
                    .crc = 0,
                    .state = {kFnvOffset, 1},
                    .format = {},
                    .reader = format.reader,
                    .reserved = 0};
  for (const fs::path& place : watched) {
    const auto object = object_at(place);
    const ObjectInfo& info = object->info;
    if (info.version.empty() && info.modified == 0) return std::nullopt;
    const std::string text = object->address + '\n' + info.version + '\n' + std::to_string(info.size) + '\n' +
                             std::to_string(info.modified) + '\n';
    header.state[0] = fnv1a(text, header.state[0]);
    header.state[1] = mix64(header.state[1] ^ hash64(text + "again")) + 1;
  }
  std::memcpy(header.format, format.name.data(), std::min(format.name.size(), sizeof(header.format)));
  header.crc = crc32c(std::as_bytes(std::span(&header, 1)));
  return header;
}

std::optional<Index> kept_index(const fs::path& place, const fs::path& shard, const KeptHeader& wanted) {
  try {
    auto file = read_kept(place);
    KeptHeader found{};
    if (!file || file->bytes().size() < sizeof(found)) return std::nullopt;
    std::memcpy(&found, file->bytes().data(), sizeof(found));
    if (found != wanted) return std::nullopt;
    Index index = Index::open(std::move(*file), place, sizeof(found));
    if (!names_only(index, shard)) return std::nullopt;
    return index;
  } catch (const Error&) {  // truncated or corrupt: a new one is built
    return std::nullopt;
  }
}

std::optional<FileLock> turn_at(const fs::path& place, const OpenProgress& progress) {
  std::error_code ignored;
  fs::create_directories(place.parent_path(), ignored);
  return SidecarTurn(progress).wait(place.string() + ".lock");
}

Index made_and_kept(const Format& format, const fs::path& shard, const fs::path& place,
                    const std::optional<KeptHeader>& header, const OpenOptions* options, const OpenProgress& progress) {
  Index index = options == nullptr ? format.index(shard, root_of(shard), progress)
                                   : format.index_with(shard, root_of(shard), *options, progress);
  if (!names_only(index, shard)) throw Error::corrupt("its index names files that do not belong to the shard");
  if (!header || !keep_at(place, {std::as_bytes(std::span(&*header, 1)), index.bytes()})) return index;
  return kept_index(place, shard, *header).value_or(std::move(index));
}

}  // namespace

StoredIndex stored_index(const Format& format, const fs::path& shard, const OpenOptions& options,
                         const OpenProgress& progress) {
  const std::vector<fs::path> watched = format.watched == nullptr ? std::vector{shard} : format.watched(shard);
  const bool usual = format.depends == nullptr || !format.depends(options);
  const std::optional<KeptHeader> header = usual ? header_of(format, watched) : std::nullopt;
  const fs::path place = place_in_index_folder(shard, kSidecarEnding);
  const auto look = [&]() -> std::optional<Index> {
    return header && !place.empty() ? kept_index(place, shard, *header) : std::nullopt;
  };
  std::optional<Index> index = look();
  if (!index) {
    const std::optional<FileLock> lock = header && !place.empty() ? turn_at(place, progress) : std::nullopt;
    if (lock) index = look();  // another process built it meanwhile
    if (!index) index = made_and_kept(format, shard, place, header, usual ? nullptr : &options, progress);
  }
  StoredIndex found{.index = std::move(*index), .objects = {}};
  const fs::path root = root_of(shard);
  for (std::uint32_t number = 0; number < found.index.file_count(); ++number)
    found.objects.push_back(object_at(place_inside(root, found.index.file(number).path)));
  return found;
}

std::shared_ptr<const ShardPins> pins_of(const std::vector<std::shared_ptr<const StoredObject>>& objects) {
  std::vector<FileIdentity> files;
  for (const auto& object : objects) files.push_back(identity_of(*object));
  const auto never = [](const Index&, std::uint32_t, const FileIdentity&) { return false; };
  return std::make_shared<const ShardPins>(std::move(files), ShardPins::Options{.prove = never, .of_content = true});
}

}  // namespace penstock
