#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include <formats/folder/folder.hpp>
#include <formats/index/difference.hpp>
#include <formats/index/index_folder.hpp>
#include <formats/index/sidecar_file.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/hash.hpp>
#include <formats/places/places.hpp>
#include <formats/sidecar/sidecar.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// A sidecar consists of these 64 bytes and the bytes of an .idx file.
struct SidecarHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t crc;  // of the header, with 0 in this field
  std::uint64_t size;
  std::uint64_t stamp;
  std::uint64_t name_hash;  // of the shard's file name, which its index repeats
  char format[16];
  std::uint64_t identity;  // of the watched files; 0 (always in version 1): unknown, so the index must be validated

  friend bool operator==(const SidecarHeader&, const SidecarHeader&) = default;
};
static_assert(sizeof(SidecarHeader) == 64);
constexpr std::uint64_t kMagic = 0x0A52414344534E50;  // "PNSDCAR\n"
constexpr std::uint32_t kVersion = 2, kOldest = 1;
constexpr int kMostAttempts = 3;  // to index files that another process is writing

std::uint32_t crc_of(SidecarHeader header) {
  header.crc = 0;
  return crc32c(std::as_bytes(std::span(&header, 1)));
}

/// Fills the header with the facts about a shard that need no reading.
SidecarHeader name_of(const Format& format, const fs::path& shard) {
  SidecarHeader header{.magic = kMagic,
                       .version = kVersion,
                       .crc = 0,
                       .size = 0,
                       .stamp = 0,
                       .name_hash = 0,
                       .format = {},
                       .identity = 0};
  std::error_code ignored;
  if (fs::is_regular_file(shard, ignored)) {
    header.size = fs::file_size(shard, ignored);
    header.name_hash = hash64(shard.filename().string());
  }
  std::memcpy(header.format, format.name.data(), std::min(format.name.size(), sizeof(header.format)));
  return header;
}

/// The watched files of a shard at one point in time.
struct Look {
  std::vector<ProvenIndex::File> files;

  bool equals(const Look& other) const {
    return std::ranges::equal(files, other.files, [](const ProvenIndex::File& a, const ProvenIndex::File& b) {
      return a.path == b.path && a.identity == b.identity;
    });
  }

  // Never 0, except if there are no watched files.
  std::uint64_t hash(const Format& format) const {
    if (files.empty()) return 0;
    std::uint64_t hash = mix64(format.reader + 1U);
    for (const auto& [path, identity] : files) {
      for (const std::uint64_t part :
           {identity.device, identity.inode, identity.size, static_cast<std::uint64_t>(identity.modified),
            static_cast<std::uint64_t>(identity.changed)}) {
        hash = mix64(hash ^ part) + 1;
      }
    }
    return hash == 0 ? 1 : hash;
  }

  std::int64_t until_settled(std::int64_t now) const {
    std::int64_t longest = 0;
    for (const ProvenIndex::File& file : files)
      longest = std::max(longest, penstock::until_settled(file.identity, now));
    return longest;
  }
};

Look look_at(const Format& format, const fs::path& shard) {
  Look look;
  for (fs::path& path : format.watched == nullptr ? std::vector{shard} : format.watched(shard)) {
    const FileIdentity identity = identity_of(path);
    look.files.push_back({.path = std::move(path), .identity = identity});
  }
  return look;
}

std::uint64_t stamp_of(const Format& format, const fs::path& shard) {
  return format.stamp(shard) ^ std::uint64_t{format.reader} << 56;
}

struct Sidecar {
  SidecarHeader header;
  Index index;
};

// Returns nothing if there is no sidecar of this shard, or if it is incomplete or not trusted. A new one is then built.
std::optional<Sidecar> read_sidecar(const fs::path& place, const fs::path& shard, const SidecarHeader& wanted) {
  std::error_code ignored;
  if (!fs::exists(place, ignored)) return std::nullopt;
  try {
    auto file = read_believed(place, shard);
    SidecarHeader found{};
    if (!file || file->bytes().size() < sizeof(found)) return std::nullopt;
    std::memcpy(&found, file->bytes().data(), sizeof(found));
    const bool whole =
        found.magic == kMagic && found.version >= kOldest && found.version <= kVersion && found.crc == crc_of(found);
    if (!whole || found.size != wanted.size || found.name_hash != wanted.name_hash ||
        std::memcmp(found.format, wanted.format, sizeof(found.format)) != 0) {
      return std::nullopt;
    }
    Sidecar sidecar{found, Index::open(std::move(*file), place, sizeof(SidecarHeader))};
    if (!names_only(sidecar.index, shard)) return std::nullopt;
    return sidecar;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Returns the time. If the files changed very recently, waits first until a later write would give them another
// identity. Waits only for clocks with fine steps.
std::int64_t settled_clock(const Format& format, const fs::path& shard, const fs::path& touched) {
  constexpr std::int64_t kSoon = 50'000'000, kTick = 10'000'000;  // nanoseconds; the clock may be a tick late
  std::int64_t now = file_clock(touched);
  for (int waits = 0; waits < 3; ++waits, now = file_clock(touched)) {
    const std::int64_t left = look_at(format, shard).until_settled(now);
    if (left == 0 || left > kSoon) break;
    std::this_thread::sleep_for(std::chrono::nanoseconds(left + kTick));
  }
  return now;
}

/// Validates or builds the index of one shard.
class Renewal {
 public:
  Renewal(const Format& format, const fs::path& shard, const OpenProgress& progress,
          const OpenOptions* options = nullptr)
      : format_(format), shard_(shard), progress_(progress), options_(options) {}

  /// The sidecars found, not validated yet.
  std::vector<Sidecar> found = {};

  struct Result {
    ProvenIndex index;
    std::optional<SidecarHeader> header;  ///< header of its sidecar; empty if it should not have one
  };

  /// Returns the index from one of `found`, or builds it. `touched` is a path beside the future sidecar, or empty.
  Result run(const fs::path& touched) {
    for (int attempt = 1;; ++attempt) {
      const std::int64_t now = settled_clock(format_, shard_, touched);
      const Look before = look_at(format_, shard_);
      std::optional<Index> index;
      SidecarHeader header = name_of(format_, shard_);
      try {
        header.stamp = stamp_of(format_, shard_);
        index = proven(header, before);
        if (!index) index = made();
      } catch (const Error&) {  // probably from a half-written file
        if (attempt == kMostAttempts || look_at(format_, shard_).equals(before)) throw;
        continue;
      }
      if (!look_at(format_, shard_).equals(before)) {
        if (attempt == kMostAttempts)
          throw Error::resource("is being written to: it changed while it was indexed", {.shard = shard_.string()});
        continue;
      }
      if (before.until_settled(now) == 0) header.identity = before.hash(format_);
      header.crc = crc_of(header);
      ProvenIndex result{std::move(*index), before.files};
      if (!before.files.empty()) return {std::move(result), header};
      FolderLook walked = look_at_folder(shard_);
      const bool same = (walked.stamp ^ std::uint64_t{format_.reader} << 56) == header.stamp;
      result.folder = std::move(walked.pins);
      return {std::move(result), same ? std::optional(header) : std::nullopt};
    }
  }

 private:
  Index made() const {
    if (options_ != nullptr) return format_.index_with(shard_, root_of(shard_), *options_, progress_);
    return format_.index(shard_, root_of(shard_), progress_);
  }

  std::optional<Index> proven(const SidecarHeader& now, const Look& look) {
    for (Sidecar& sidecar : found) {
      if (sidecar.header.stamp != now.stamp || sidecar.header.size != now.size) continue;
      const bool told =
          look.files.empty() || (format_.proves != nullptr && format_.proves(shard_, sidecar.index, progress_));
      if (!told) continue;
      return std::move(sidecar.index);
    }
    found.clear();
    return std::nullopt;
  }

  const Format& format_;
  const fs::path& shard_;
  const OpenProgress& progress_;
  const OpenOptions* options_;  // null: the defaults
};

// Stores the index at `place` and returns the stored one. If that fails (a full disk), returns the index itself.
Index keep(Index index, const fs::path& place, const SidecarHeader& header) {
  try {
    write_atomically(place, {std::as_bytes(std::span(&header, 1)), index.bytes()}, kSidecarMode);
    return Index::open(FileBytes(place), place, sizeof(SidecarHeader));
  } catch (const Error&) {
    return index;
  }
}

// Root can write to folders without write permission. Such a folder stays unchanged nevertheless.
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
  if (is_folder(shard)) return shard;
  return shard.has_parent_path() ? shard.parent_path() : fs::path(".");
}

std::vector<fs::path> sidecar_paths(const fs::path& shard) {
  std::vector<fs::path> paths{beside(shard)};
  std::error_code ignored;
  fs::path kept = place_in_index_folder(fs::weakly_canonical(shard, ignored), kSidecarEnding);
  if (!kept.empty()) paths.push_back(std::move(kept));
  return paths;
}

std::shared_ptr<const ShardPins> ProvenIndex::pins(const Format& format, const fs::path& shard,
                                                   const OpenOptions& options) const {
  if (files.empty()) return std::make_shared<const ShardPins>(folder);
  std::vector<FileIdentity> pinned;
  const fs::path root = root_of(shard);
  for (std::uint32_t number = 0; number < index.file_count(); ++number) {
    const fs::path path = root / index.file(number).path;
    const auto looked = std::ranges::find(files, path, &File::path);
    pinned.push_back(looked != files.end() ? looked->identity : identity_of(path));
  }
  const auto prove = [format, shard, root, options](const Index& known, std::uint32_t file, const FileIdentity& now) {
    const auto made = [&] {
      const bool usual = format.depends == nullptr || !format.depends(options);
      return usual ? format.index(shard, root, {}) : format.index_with(shard, root, options, {});
    };
    const bool told = format.proves != nullptr && format.proves(shard, known, {});
    const bool holds = told || !index_difference(known, made()).has_value();
    return holds && identity_of(root / known.file(file).path) == now;
  };
  return std::make_shared<const ShardPins>(std::move(pinned), ShardPins::Options{.prove = prove});
}

void keep_sidecar(const Format& format, const fs::path& shard, const Index& index) {
  const fs::path place = beside(shard);
  const std::int64_t now = settled_clock(format, shard, {});
  const Look look = look_at(format, shard);
  SidecarHeader header = name_of(format, shard);
  header.stamp = stamp_of(format, shard);
  if (look.until_settled(now) == 0) header.identity = look.hash(format);
  header.crc = crc_of(header);
  if (const auto sidecar = read_sidecar(place, shard, header); sidecar && sidecar->header == header) return;
  if (belongs_to_another(place)) return;
  try {
    write_atomically(place, {std::as_bytes(std::span(&header, 1)), index.bytes()}, kSidecarMode);
  } catch (const Error&) {  // the first open of the copy builds it
  }
}

ProvenIndex index_with_options(const Format& format, const fs::path& shard, const OpenOptions& options,
                               const OpenProgress& progress) {
  return std::move(Renewal(format, shard, progress, &options).run({}).index);
}

ProvenIndex sidecar_index(const Format& format, const fs::path& shard, const OpenProgress& progress) {
  const std::vector<fs::path> places = sidecar_paths(shard);
  const SidecarHeader wanted = name_of(format, shard);
  const Look look = look_at(format, shard);
  const std::uint64_t identity = look.hash(format);
  FolderLook walked;
  if (look.files.empty()) walked = look_at_folder(shard);
  const std::uint64_t stamp = walked.stamp ^ std::uint64_t{format.reader} << 56;
  const auto is_good = [&](const Sidecar& sidecar) {
    return look.files.empty() ? sidecar.header.stamp == stamp : sidecar.header.identity == identity;
  };
  Renewal renewal(format, shard, progress);
  for (const fs::path& place : places) {
    auto sidecar = read_sidecar(place, shard, wanted);
    if (sidecar && is_good(*sidecar)) return {std::move(sidecar->index), look.files, std::move(walked.pins)};
    if (sidecar) renewal.found.push_back(std::move(*sidecar));
  }
  SidecarTurn turn(progress);
  for (const fs::path& place : places) {
    std::error_code ignored;
    fs::create_directories(place.parent_path(), ignored);
    if (marked_read_only(place.parent_path()) || belongs_to_another(place)) continue;
    const fs::path lock_file = place.string() + ".lock";
    const auto lock = turn.wait(lock_file);
    if (!lock) continue;
    auto sidecar = read_sidecar(place, shard, wanted);
    if (sidecar && is_good(*sidecar))
      return {std::move(sidecar->index), look.files, std::move(walked.pins)};  // another process built it meanwhile
    const SidecarHeader there = sidecar ? sidecar->header : SidecarHeader{};
    if (sidecar) renewal.found.insert(renewal.found.begin(), std::move(*sidecar));
    Renewal::Result result = renewal.run(lock_file);
    if (result.header && there != *result.header) {
      result.index.index = keep(std::move(result.index.index), place, *result.header);
    }
    return std::move(result.index);
  }
  return std::move(renewal.run({}).index);
}

}  // namespace penstock
