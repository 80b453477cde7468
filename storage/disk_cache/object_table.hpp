// The files of an object in a disk cache: a sparse file of its bytes, and a table of the cached blocks.
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

/// Identifies the state of the object: its version or else a hash of its content; empty if neither is known.
const std::string& version_of(const StoredObject& object);

/// Identifies an object in one state: a 128-bit hash of its address, version and size.
struct CachedObjectId {
  std::uint64_t high = 0, low = 0;
  std::string text() const;  ///< 32 digits
  static CachedObjectId of(const StoredObject& object);
  static std::optional<CachedObjectId> parsed(std::string_view text);
  friend auto operator<=>(const CachedObjectId&, const CachedObjectId&) = default;
};

/// Endings of an object's two files in objects/, after the id.
constexpr std::string_view kTableEnding = ".table", kDataEnding = ".data";

/// Ids of objects with a table in the folder, valid or not. Throws Error: io; resource.
std::vector<CachedObjectId> cached_ids(const CacheFolder& folder);

/// NAME.table: a page of header, then an entry of 8 bytes per block. All processes map it:
///
///     +0  crc32c of the block's bytes, seeded with a number derived from object and block
///     +4  "KEPT", or 0: the block is not cached
///
/// NAME.data: the cached bytes of the object; holes elsewhere. Invariant: an entry is written after its bytes and never
/// trusted, so each read is compared with its checksum. A write torn by a kill or a power failure is therefore a miss,
/// and so is a read that meets an eviction. Any number of threads and processes may use it; no function waits.
class ObjectTable {
 public:
  struct Header {
    std::uint64_t size = 0, block_bytes = 0;
    std::string address = {}, version = {};
  };

  /// Creates the files if they do not exist. Returns null if there is no room for them. Throws Error: io; resource.
  static std::shared_ptr<ObjectTable> make(CacheFolder& folder, const CachedObjectId& id, const Header& header);
  /// Opens existing files. Returns null if they do not exist or are invalid.
  static std::shared_ptr<ObjectTable> find(CacheFolder& folder, const CachedObjectId& id);
  ~ObjectTable();

  const CachedObjectId& id() const { return id_; }
  const Header& header() const { return header_; }
  std::uint64_t block_count() const { return blocks_; }
  std::uint64_t block_size(std::uint64_t block) const;             ///< the last block may be shorter
  std::uint64_t charge() const { return charged(table_bytes()); }  ///< of the table
  std::uint64_t block_charge(std::uint64_t block) const { return charged(block_size(block)); }

  bool has(std::uint64_t block) const noexcept { return (entry(block) >> 32) == kKept; }
  enum class Found : std::uint8_t { sound, absent, bad };
  /// Reads bytes of one block or several. If the result is `bad`, sets `bad` to the invalid block.
  Found read(std::uint64_t offset, std::span<std::byte> bytes, std::uint64_t& bad) noexcept;
  /// Writes the bytes of a block, then its entry. The caller has reserved the room. Returns 0; EEXIST, if another
  /// writer was faster; or errno.
  int write(std::uint64_t block, std::span<const std::byte> bytes) noexcept;
  /// Removes a block and punches a hole. Returns true to the one caller that did it, and false if the disk does not
  /// free the space.
  bool evict(std::uint64_t block) noexcept;
  /// Calls visit(block) for each cached block. Returns false if the table cannot be read.
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
  /// Frees the space of bytes without an entry. Call it only while no other process uses the folder. Returns the
  /// charged bytes of the cached blocks.
  std::uint64_t tidy() noexcept;
  bool torn() const noexcept { return torn_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kKept = 0x5450454B;  // "KEPT"
  static constexpr std::uint64_t kHeaderBytes = 4096;
  static constexpr std::size_t kTogether = 512;  // entries per page
  ObjectTable(CacheFolder& folder, const CachedObjectId& id, Header header);
  /// Temporary access to the entries: the kept mapping, or one for this access only.
  class Entries {
   public:
    explicit Entries(const ObjectTable& table);
    /// Returns null if the entries cannot be mapped.
    std::uint64_t* at(std::uint64_t block) const;
    /// Copies entries from `first` on, as many as exist and fit. Returns 0 if the entries cannot be read.
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
  SharedMap map_;              // empty if the process has too many mappings
  std::atomic<int> data_{-1};  // open if the process has enough descriptors
  mutable std::atomic<bool> torn_{false};
};

/// For tests: maximum number of tables that a process maps; 0: derived from the system's limit.
inline std::atomic<int> most_mapped_tables{0};

}  // namespace penstock
