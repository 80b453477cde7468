// An object's files in a disk cache: a sparse one of its bytes, and a table that says which blocks are there.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/places/object_store.hpp>
#include <storage/disk_cache/cache_folder.hpp>
#include <storage/disk_cache/shared_map.hpp>

namespace penstock {

/// Tells this state of the object from others: its version, or else its content; empty: neither is known.
const std::string& version_of(const StoredObject& object);

/// Names an object in a state: 128 bits of a hash of its address, version and size.
struct CachedObjectId {
  std::uint64_t high = 0, low = 0;
  std::string text() const;  ///< 32 digits
  static CachedObjectId of(const StoredObject& object);
  static std::optional<CachedObjectId> parsed(std::string_view text);
  friend auto operator<=>(const CachedObjectId&, const CachedObjectId&) = default;
};

/// Behind the id, of an object's two files in objects/.
constexpr std::string_view kTableEnding = ".table", kDataEnding = ".data";

/// Of the objects that have a table in the folder, sound or not. Throws Error: io; resource.
std::vector<CachedObjectId> cached_ids(const CacheFolder& folder);

/// NAME.table: a page of header, then an entry of 8 bytes for each block, which all processes have in memory:
///
///     +0  crc32c of the block's bytes, begun with a number that object and block give
///     +4  "KEPT", or 0: the block is not there
///
/// NAME.data: the object's bytes, where they are kept; holes elsewhere. An entry is written behind its bytes, and never
/// believed: bytes that were read are compared with it. So a write that was torn by a kill or a power cut is a miss,
/// and so is one that met an eviction. Any number of threads and processes may use it; nothing waits.
class ObjectTable {
 public:
  struct Header {
    std::uint64_t size = 0, block_bytes = 0;
    std::string address = {}, version = {};
  };

  /// Makes the files where they are not there; null where there is no room for them. Throws Error: io; resource.
  static std::shared_ptr<ObjectTable> make(CacheFolder& folder, const CachedObjectId& id, const Header& header);
  /// Those that are there; null where they are not, or are not sound.
  static std::shared_ptr<ObjectTable> find(CacheFolder& folder, const CachedObjectId& id);
  ~ObjectTable();

  const CachedObjectId& id() const { return id_; }
  const Header& header() const { return header_; }
  std::uint64_t block_count() const { return blocks_; }
  std::uint64_t block_size(std::uint64_t block) const;             ///< the last one may be shorter
  std::uint64_t charge() const { return charged(table_bytes()); }  ///< of the table
  std::uint64_t block_charge(std::uint64_t block) const { return charged(block_size(block)); }

  bool has(std::uint64_t block) const noexcept { return (entry(block) >> 32) == kKept; }
  enum class Found : std::uint8_t { sound, absent, bad };
  /// Bytes of one block or several. `bad` is a block whose bytes are wrong, where that is the answer.
  Found read(std::uint64_t offset, std::span<std::byte> bytes, std::uint64_t& bad) noexcept;
  /// Writes bytes of a block, then its entry. Room for it is reserved. 0; EEXIST, where it was there by then; errno.
  int write(std::uint64_t block, std::span<const std::byte> bytes) noexcept;
  /// Forgets a block and gives its room back. True for the one who did; where the disk takes no room back, nobody did.
  bool evict(std::uint64_t block) noexcept;
  /// Calls visit(block) for those that are there. False where the table cannot be read.
  template <typename Visit>
  bool each_kept(const Visit& visit) const {
    std::array<std::uint64_t, kTogether> entries;
    const Entries there(*this);
    for (std::uint64_t first = 0; first < blocks_; first += entries.size()) {
      const std::uint64_t count = there.copy(first, entries);
      for (std::uint64_t i = 0; i < count; ++i)
        if (entries[i] >> 32 == kKept) visit(first + i);
    }
    return !torn_.load(std::memory_order_relaxed);
  }
  /// Where nobody else uses the folder: gives back the room of bytes that have no entry. Returns bytes of blocks that
  /// are there, as they are charged.
  std::uint64_t tidy() noexcept;
  bool torn() const noexcept { return torn_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kKept = 0x5450454B;  // "KEPT"
  static constexpr std::uint64_t kHeaderBytes = 4096;
  static constexpr std::size_t kTogether = 512;  // entries of a page
  ObjectTable(CacheFolder& folder, const CachedObjectId& id, Header header);
  /// The entries, for a moment: of the mapping that is kept, or of one for this once.
  class Entries {
   public:
    explicit Entries(const ObjectTable& table);
    /// Null where they cannot be had.
    std::uint64_t* at(std::uint64_t block) const;
    /// From `first` on, as many as there are and fit; 0 where they cannot be had.
    std::uint64_t copy(std::uint64_t first, std::span<std::uint64_t> entries) const noexcept;

   private:
    const ObjectTable& table_;
    SharedMap own_;
    std::byte* data_;
  };
  std::uint64_t table_bytes() const { return kHeaderBytes + blocks_ * sizeof(std::uint64_t); }
  SharedMap mapped() const;
  std::uint64_t entry(std::uint64_t block) const noexcept;
  bool exchange(std::uint64_t block, std::uint64_t from, std::uint64_t to) noexcept;
  std::uint32_t seed(std::uint64_t block) const;
  class Data;
  static std::vector<std::byte> packed(const Header& header, const CachedObjectId& id);
  static std::optional<Header> unpacked(std::span<const std::byte> page, const CachedObjectId& id);

  CacheFolder& folder_;
  const CachedObjectId id_;
  const Header header_;
  const std::uint64_t blocks_;
  SharedMap map_;              // nothing, where the process has too many mappings
  std::atomic<int> data_{-1};  // open, where the process has descriptors enough
  mutable std::atomic<bool> torn_{false};
};

/// For tests: tables that a process has in memory at most; 0: as many as the system's limit allows.
inline std::atomic<int> most_mapped_tables{0};

}  // namespace penstock
