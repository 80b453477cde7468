#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include <base/numbers/load.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/lmdb/pages.hpp>
#include <formats/places/places.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "LMDB files have the byte order of the machine");

constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPageHeader = 16;
constexpr std::size_t kNodeHeader = 8;
constexpr std::size_t kMetaBytes = 136;
constexpr std::size_t kDatabaseBytes = 48;
// A meta page: magic, version, address, map size; the database of the free list, then the main one; last page,
// transaction.
constexpr std::size_t kFreeList = kPageHeader + 24;
constexpr std::size_t kMainDatabase = kFreeList + kDatabaseBytes;
constexpr std::uint32_t kSmallestPage = 512;
constexpr std::uint32_t kLargestPage = 65536;
constexpr std::uint16_t kDeepest = 32;  // the limit of liblmdb's own cursors
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::uint64_t kEntriesPerProgress = 65536;

enum PageFlag : std::uint16_t { kBranch = 0x01, kLeaf = 0x02, kMeta = 0x08, kFixedLeaf = 0x20, kSubPage = 0x40 };
enum NodeFlag : std::uint16_t { kBigData = 0x01, kSubDatabase = 0x02, kDuplicates = 0x04 };
enum DatabaseFlag : std::uint16_t { kReverseKey = 0x02, kDupSort = 0x04, kIntegerKey = 0x08 };

}  // namespace

bool LmdbPages::begins_like_one(std::span<const std::byte> head) {
  if (head.size() < kHeadBytes) return false;
  const std::uint32_t swapped = __builtin_bswap32(kMagic);
  // The magic follows the page header: 16 bytes on 64-bit machines, 12 on 32-bit ones.
  for (const std::size_t at : {std::size_t{16}, std::size_t{12}}) {
    const auto magic = load<std::uint32_t>(head, at);
    if (magic == kMagic || magic == swapped) return true;
  }
  return false;
}

LmdbPages::LmdbPages(const std::filesystem::path& file) : source_(open_byte_source(file)) {
  meta_ = newest_meta();
}

LmdbMeta LmdbPages::newest_meta() const {
  const LmdbMeta first = read_meta(0);
  const LmdbMeta second = read_meta(first.page_size);
  if (second.page_size != first.page_size) {
    throw Error::corrupt("meta pages disagree on the page size", {.shard = source_->path().string()});
  }
  return second.transaction > first.transaction ? second : first;
}

void LmdbPages::require_unchanged() const {
  std::uint64_t newest = 0;
  for (const std::uint64_t page : {std::uint64_t{0}, std::uint64_t{meta_.page_size}}) {
    std::array<std::byte, sizeof newest> transaction{};
    source_->read(page + kMainDatabase + 56, transaction);
    newest = std::max(newest, load<std::uint64_t>(transaction, 0));
  }
  if (newest == meta_.transaction) return;
  throw Error::resource("is being written: a transaction was committed while it was indexed",
                        {.shard = source_->path().string()});
}

bool LmdbDatabase::integer_names() const {
  return (flags & kIntegerKey) != 0;
}

LmdbMeta LmdbPages::read_meta(std::uint64_t offset) const {
  const ErrorContext where{.shard = source_->path().string(), .offset = offset};
  std::array<std::byte, kPageHeader + kMetaBytes> page{};
  if (source_->read(offset, page) != page.size()) throw Error::corrupt("file ends in a meta page", where);
  if (load<std::uint32_t>(page, kPageHeader) != kMagic) {
    if (begins_like_one(page)) throw Error::unsupported("LMDB of a 32-bit or big-endian machine", where);
    throw Error::corrupt("not an LMDB meta page", where);
  }
  const auto version = load<std::uint32_t>(page, kPageHeader + 4);
  if (version != kVersion) throw Error::unsupported("LMDB data version " + std::to_string(version), where);
  if ((load<std::uint16_t>(page, 10) & kMeta) == 0) throw Error::corrupt("meta page is not marked as one", where);

  LmdbMeta meta{};
  meta.page_size = load<std::uint32_t>(page, kFreeList);
  meta.transaction = load<std::uint64_t>(page, kMainDatabase + 56);

  if (!std::has_single_bit(meta.page_size) || meta.page_size < kSmallestPage || meta.page_size > kLargestPage) {
    throw Error::corrupt("invalid page size: " + std::to_string(meta.page_size), where);
  }
  meta.main = read_database(std::span(page).subspan(kMainDatabase, kDatabaseBytes), meta.page_size, offset);
  return meta;
}

// struct MDB_db: pad (u32), flags, depth (u16 each), branch, leaf and overflow pages, entries, root (u64 each).
LmdbDatabase LmdbPages::read_database(std::span<const std::byte> record, std::uint32_t page_size,
                                      std::uint64_t offset) const {
  const ErrorContext where{.shard = source_->path().string(), .offset = offset};
  const auto branches = load<std::uint64_t>(record, 8), leaves = load<std::uint64_t>(record, 16);
  const LmdbDatabase database{.flags = load<std::uint16_t>(record, 4),
                              .depth = load<std::uint16_t>(record, 6),
                              .tree_pages = branches + leaves,
                              .entries = load<std::uint64_t>(record, 32),
                              .root = load<std::uint64_t>(record, 40)};
  const std::uint64_t pages = source_->size() / page_size;
  if (database.depth > kDeepest || branches > pages || leaves > pages || branches + leaves > pages) {
    throw Error::corrupt("database declares a larger tree than the file can contain", where);
  }
  if (database.root != kNoPage && database.root >= pages) {
    throw Error::corrupt("root page is after the end of the file", where);
  }
  return database;
}

void LmdbPages::read_page(std::uint64_t number, std::span<std::byte> page) const {
  const std::uint64_t offset = number * meta_.page_size;
  const ErrorContext where{.shard = source_->path().string(), .offset = offset};
  if (source_->read(offset, page) != page.size()) throw Error::corrupt("file ends in a page", where);
  if (load<std::uint64_t>(page, 0) != number)
    throw Error::corrupt("page number does not match its position in the file", where);
}

std::uint64_t LmdbPages::stamp() const {
  std::vector<std::byte> page(meta_.page_size);
  std::uint32_t crc = 0;
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, meta_.main.root}) {
    if (number == kNoPage) continue;
    const std::size_t got = source_->read(number * meta_.page_size, page);
    crc = crc32c(std::span(page).first(got), crc);
  }
  return meta_.transaction << 32 ^ crc;
}

// Walks depth first from the leftmost leaf on, with one page buffer per level.
class LmdbPages::Walk {
 public:
  Walk(const LmdbPages& file, const LmdbDatabase& database, const std::function<void(const LmdbEntry&)>& visit,
       const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : file_(file),
        page_size_(file.meta_.page_size),
        database_(database),
        visit_(visit),
        progress_(progress),
        levels_(database.depth) {
    for (std::vector<std::byte>& page : levels_) page.resize(page_size_);
  }

  void run() {
    if (database_.root != kNoPage) subtree(database_.root, 0);
    if (entries_ != database_.entries) {
      throw Error::corrupt(
          "contains " + std::to_string(entries_) + " entries, but declares " + std::to_string(database_.entries),
          {.shard = file_.source_->path().string()});
    }
    if (progress_) progress_(entries_, database_.entries);
  }

 private:
  Error corrupt(std::string cause, std::uint64_t number) const {
    return Error::corrupt(std::move(cause), {.shard = file_.source_->path().string(), .offset = number * page_size_});
  }

  void subtree(std::uint64_t number, std::uint16_t level) {
    if (level >= database_.depth) throw corrupt("tree is deeper than declared", number);
    if (number >= file_.source_->size() / page_size_) throw corrupt("page is after the end of the file", number);
    if (++visited_ > database_.tree_pages) throw corrupt("tree has more pages than declared", number);
    const std::span<std::byte> page = levels_[level];
    file_.read_page(number, page);

    const auto flags = load<std::uint16_t>(page, 10);
    const auto lower = load<std::uint16_t>(page, 12);
    const bool branch = level + 1 < database_.depth;
    if ((flags & (kFixedLeaf | kSubPage)) != 0 || (flags & (kBranch | kLeaf)) != (branch ? kBranch : kLeaf)) {
      throw corrupt("page of a wrong kind", number);
    }
    if (lower < kPageHeader || lower > page.size()) throw corrupt("page with a wrong count of nodes", number);
    const std::size_t nodes = (lower - kPageHeader) / 2;
    for (std::size_t i = 0; i < nodes; ++i) {
      const std::size_t node = load<std::uint16_t>(page, kPageHeader + 2 * i);
      if (node < lower || page.size() - kNodeHeader < node) throw corrupt("node lies outside its page", number);
      branch ? descend(page, node, level) : leaf(page, node, number);
    }
  }

  void descend(std::span<const std::byte> page, std::size_t node, std::uint16_t level) {
    const std::uint64_t child = load<std::uint32_t>(page, node) | std::uint64_t{load<std::uint16_t>(page, node + 4)}
                                                                      << 32;
    subtree(child, static_cast<std::uint16_t>(level + 1));
  }

  void leaf(std::span<const std::byte> page, std::size_t node, std::uint64_t number) {
    const std::uint64_t length = load<std::uint32_t>(page, node);
    const auto flags = load<std::uint16_t>(page, node + 4);
    const std::size_t name_length = load<std::uint16_t>(page, node + 6);
    const std::size_t data = node + kNodeHeader + name_length;
    const std::uint64_t stored = (flags & kBigData) != 0 ? sizeof(std::uint64_t) : length;
    if (data > page.size() || stored > page.size() - data)
      throw corrupt("node extends past the end of its page", number);
    if ((flags & kDuplicates) != 0) throw corrupt("node with several values in a database of single values", number);

    const std::string_view name(reinterpret_cast<const char*>(page.data() + node + kNodeHeader), name_length);
    if (entries_ != 0 && !ascends(name)) throw corrupt("names are not in ascending order", number);
    last_ = name;

    std::uint64_t offset = number * page_size_ + data;
    if ((flags & kBigData) != 0) offset = overflow(load<std::uint64_t>(page, data), length, number);
    LmdbEntry entry{.name = name, .offset = offset, .length = length, .database = {}};
    if ((flags & kSubDatabase) != 0) {
      if (stored != kDatabaseBytes || length != kDatabaseBytes) throw corrupt("named database of a wrong size", number);
      entry.database = file_.read_database(page.subspan(data, kDatabaseBytes), page_size_, offset);
    }
    visit_(entry);
    if (++entries_ % kEntriesPerProgress == 0 && progress_) progress_(entries_, database_.entries);
  }

  bool ascends(std::string_view name) const {
    if (!database_.integer_names()) return name > last_;
    if (name.size() != last_.size()) return false;
    // The numbers are little-endian: the last byte is the most significant.
    return std::lexicographical_compare(last_.rbegin(), last_.rend(), name.rbegin(), name.rend(), [](char a, char b) {
      return static_cast<unsigned char>(a) < static_cast<unsigned char>(b);
    });
  }

  std::uint64_t overflow(std::uint64_t first, std::uint64_t length, std::uint64_t number) const {
    if (first >= file_.source_->size() / page_size_) throw corrupt("value is after the end of the file", number);
    const std::uint64_t offset = first * page_size_ + kPageHeader;
    if (length > file_.source_->size() - offset) throw corrupt("value extends past the end of the file", number);
    return offset;
  }

  const LmdbPages& file_;
  const std::uint32_t page_size_;
  const LmdbDatabase& database_;
  const std::function<void(const LmdbEntry&)>& visit_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
  std::vector<std::vector<std::byte>> levels_;
  std::uint64_t visited_ = 0;
  std::uint64_t entries_ = 0;
  std::string last_;  // names must ascend strictly, so no page can be reached twice
};

void LmdbPages::walk(const LmdbDatabase& database, const std::function<void(const LmdbEntry&)>& visit,
                     const std::function<void(std::uint64_t, std::uint64_t)>& progress) const {
  const ErrorContext where{.shard = source_->path().string()};
  if ((database.flags & kDupSort) != 0) throw Error::unsupported("LMDB with several values per name (DUPSORT)", where);
  if ((database.flags & kReverseKey) != 0) throw Error::unsupported("LMDB with reversed names", where);
  Walk(*this, database, visit, progress).run();
}

}  // namespace penstock
