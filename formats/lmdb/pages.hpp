// Walks the pages of an LMDB file, read-only and without liblmdb. Finds names and the location of their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include <formats/io/byte_source.hpp>

namespace penstock {

/// A tree of names: the main database, or a named one inside it.
struct LmdbDatabase {
  std::uint16_t flags;  ///< MDB_DUPSORT and so on
  std::uint16_t depth;
  std::uint64_t tree_pages;  ///< branch and leaf pages
  std::uint64_t entries;
  std::uint64_t root;  ///< page number, all ones if the database is empty
  bool integer_names() const;
};

/// The content of the newer of the two meta pages.
struct LmdbMeta {
  std::uint32_t page_size;
  std::uint64_t transaction;
  LmdbDatabase main;
};

/// One name and its value, or a named database inside the main one.
struct LmdbEntry {
  std::string_view name;  ///< any bytes; valid until the visitor returns
  std::uint64_t offset;   ///< of the value, from the start of the file
  std::uint64_t length;
  std::optional<LmdbDatabase> database;  ///< set if the value is a named database
};

/// A file as LMDB 0.9 writes it on a 64-bit little-endian machine. Nothing in it is trusted. An Error is thrown for a
/// page number, node offset or length that points outside, a page of the wrong kind, and a tree with a cycle.
///
/// A page begins with 16 bytes: number (u64), pad (u16), flags (u16), lower and upper bound of its free space (u16
/// each), or for a run of overflow pages their count (u32). In a branch or leaf page, the offsets (u16) of its nodes
/// follow, in the order of their names. A node is lo, hi, flags, name length (u16 each), name, data. In a branch, lo,
/// hi and flags are the child's page number. In a leaf, lo and hi are the value's length, and the data is the value or
/// a page number (u64). The page number is the first of the contiguous pages that hold the value from their byte 16 on.
/// Source: mdb.c of LMDB 0.9.24, "struct MDB_page", "struct MDB_node", "struct MDB_meta".
class LmdbPages {
 public:
  /// Returns true if the first bytes of a file are those of any LMDB file, readable here or not.
  static bool begins_like_one(std::span<const std::byte> head);
  static constexpr std::size_t kHeadBytes = 32;

  /// Reads and checks both meta pages. Throws Error: io; corrupt; unsupported (another version, word size or byte
  /// order).
  explicit LmdbPages(const std::filesystem::path& file);

  const LmdbMeta& meta() const { return meta_; }
  /// Throws Error: resource, if a transaction was committed after construction, because walked pages may have been
  /// reused.
  void require_unchanged() const;
  std::uint64_t file_size() const { return source_->size(); }
  /// Changes with every committed transaction, and differs between files made independently.
  std::uint64_t stamp() const;

  /// Visits every entry of a database in the order of names: bytewise, or numerically for integer names (4 or 8 bytes).
  /// Reads only branch and leaf pages. `progress`, if given, is called with (entries done, all). Throws Error: corrupt
  /// (with the offset of the page); io; unsupported (several values per name, reversed names).
  void walk(const LmdbDatabase& database, const std::function<void(const LmdbEntry&)>& visit,
            const std::function<void(std::uint64_t, std::uint64_t)>& progress = {}) const;

 private:
  class Walk;
  LmdbMeta read_meta(std::uint64_t offset) const;
  LmdbMeta newest_meta() const;
  LmdbDatabase read_database(std::span<const std::byte> record, std::uint32_t page_size, std::uint64_t offset) const;
  void read_page(std::uint64_t number, std::span<std::byte> page) const;

  std::shared_ptr<const ByteSource> source_;
  LmdbMeta meta_{};
};

}  // namespace penstock
