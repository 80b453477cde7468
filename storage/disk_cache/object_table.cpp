#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <base/caught.hpp>
#include <base/sigbus_guard.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/hash.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/object_table.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kTableMagic = 0x31656C62'61546450;  // "PdTable1"
constexpr std::uint64_t kLargestBlock = std::uint64_t{1} << 20;
constexpr std::uint64_t kSecondHash = 0x6E6F6465'20636163;
constexpr std::size_t kTextBytes = 3800;  // for address and version together

/// Formats 32 digits and an ending without allocating memory.
struct FileName {
  std::array<char, 48> text{};

  FileName(const CachedObjectId& id, std::string_view ending) {
    std::snprintf(text.data(), text.size(), "%016llx%016llx%.*s", static_cast<unsigned long long>(id.high),
                  static_cast<unsigned long long>(id.low), static_cast<int>(ending.size()), ending.data());
  }
  const char* c_str() const { return text.data(); }
};

FileName table_name(const CachedObjectId& id) {
  return {id, kTableEnding};
}
FileName data_name(const CachedObjectId& id) {
  return {id, kDataEnding};
}

int most_open_data() {
  static const int most = [] {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 64;
    return static_cast<int>(std::min<std::uint64_t>(512, files.rlim_cur / 4));
  }();
  return most;
}

// Limits mappings to a quarter of those that the system allows a process (vm.max_map_count); the rest is for others.
int most_mapped() {
  static const int most = [] {
    std::array<char, 24> text{};
    const Descriptor file(::open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC));
    const ssize_t got = file.get() < 0 ? -1 : ::read(file.get(), text.data(), text.size() - 1);
    const long limit = got > 0 ? std::strtol(text.data(), nullptr, 10) : 65530;
    return static_cast<int>(std::clamp(limit / 4, 16L, 1L << 20));
  }();
  const int asked = most_mapped_tables.load(std::memory_order_relaxed);
  return asked != 0 ? asked : most;
}

std::atomic<int>& mapped_tables() {
  static std::atomic<int> mapped{0};
  return mapped;
}

std::atomic<int>& open_data() {
  static std::atomic<int> open{0};
  return open;
}

// The header at the beginning of a table file.
struct TablePage {
  std::uint64_t magic;
  std::uint32_t crc, text_bytes;  // crc of everything after it; length of address and version
  std::uint64_t high, low, size, block_bytes;
  std::uint32_t address_bytes, version_bytes;
};

// Drops the query after "?": it may be a signature that grants access to everybody.
std::string without_query(const std::string& address) {
  return address.substr(0, address.find('?'));
}

}  // namespace

std::string CachedObjectId::text() const {
  return FileName(*this, "").c_str();
}

const std::string& version_of(const StoredObject& object) {
  return object.info.version.empty() ? object.content : object.info.version;
}

CachedObjectId CachedObjectId::of(const StoredObject& object) {
  const std::string all = object.address + '\n' + version_of(object) + '\n' + std::to_string(object.info.size) + '\n' +
                          (version_of(object).empty() ? std::to_string(object.info.modified) : std::string());
  return {.high = hash64(all), .low = mix64(fnv1a(all, mix64(kSecondHash + all.size())) + kSecondHash)};
}

std::optional<CachedObjectId> CachedObjectId::parsed(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  std::array<std::uint64_t, 2> halves{};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    halves[i / 16] = halves[i / 16] << 4 | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return CachedObjectId{halves[0], halves[1]};
}

// A descriptor of the data file: the one kept open, or a temporary one.
class ObjectTable::Data {
 public:
  explicit Data(ObjectTable& table) : fd_(table.data_.load(std::memory_order_acquire)) {
    if (fd_ >= 0) return;
    fd_ = table.folder_.open_file(table.folder_.objects(), data_name(table.id_).c_str(), O_RDWR | O_CREAT);
    own_ = fd_ >= 0;
    if (!own_ || open_data().fetch_add(1, std::memory_order_relaxed) >= most_open_data()) {
      if (own_) open_data().fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    int none = -1;
    own_ = !table.data_.compare_exchange_strong(none, fd_, std::memory_order_acq_rel);
    if (own_) open_data().fetch_sub(1, std::memory_order_relaxed);
  }
  Data(Data&&) = delete;
  ~Data() {
    if (own_) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
  bool own_ = false;
};

std::vector<std::byte> ObjectTable::packed(const Header& header, const CachedObjectId& id) {
  const std::string address = without_query(header.address).substr(0, kTextBytes / 2);
  const std::string version = header.version.substr(0, kTextBytes / 2);
  TablePage page{.magic = kTableMagic,
                 .crc = 0,
                 .text_bytes = static_cast<std::uint32_t>(address.size() + version.size()),
                 .high = id.high,
                 .low = id.low,
                 .size = header.size,
                 .block_bytes = header.block_bytes,
                 .address_bytes = static_cast<std::uint32_t>(address.size()),
                 .version_bytes = static_cast<std::uint32_t>(version.size())};
  std::vector<std::byte> bytes(kHeaderBytes);
  std::memcpy(bytes.data() + sizeof(page), address.data(), address.size());
  std::memcpy(bytes.data() + sizeof(page) + address.size(), version.data(), version.size());
  std::memcpy(bytes.data(), &page, sizeof(page));
  page.crc = crc32c(bytes);
  std::memcpy(bytes.data(), &page, sizeof(page));
  return bytes;
}

std::optional<ObjectTable::Header> ObjectTable::unpacked(std::span<const std::byte> bytes, const CachedObjectId& id) {
  TablePage page;
  std::memcpy(&page, bytes.data(), sizeof(page));
  const std::uint32_t crc = std::exchange(page.crc, 0);
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  std::memcpy(copy.data(), &page, sizeof(page));
  const bool sound = page.magic == kTableMagic && crc32c(copy) == crc && page.high == id.high && page.low == id.low &&
                     page.block_bytes >= 4096 && page.block_bytes <= kLargestBlock &&
                     (page.block_bytes & (page.block_bytes - 1)) == 0 && page.address_bytes <= kTextBytes &&
                     page.version_bytes <= kTextBytes && page.size < std::uint64_t{1} << 50 &&
                     sizeof(page) + page.address_bytes + page.version_bytes <= bytes.size();
  if (!sound) return std::nullopt;
  const char* text = reinterpret_cast<const char*>(bytes.data()) + sizeof(page);
  return Header{.size = page.size,
                .block_bytes = page.block_bytes,
                .address = std::string(text, page.address_bytes),
                .version = std::string(text + page.address_bytes, page.version_bytes)};
}

ObjectTable::ObjectTable(CacheFolder& folder, const CachedObjectId& id, Header header)
    : folder_(folder),
      id_(id),
      header_(std::move(header)),
      blocks_((header_.size + header_.block_bytes - 1) / header_.block_bytes) {}

ObjectTable::~ObjectTable() {
  if (map_.data() != nullptr) mapped_tables().fetch_sub(1, std::memory_order_relaxed);
  if (data_ < 0) return;
  ::close(data_);
  open_data().fetch_sub(1, std::memory_order_relaxed);
}

std::shared_ptr<ObjectTable> ObjectTable::find(CacheFolder& folder, const CachedObjectId& id) {
  const int fd = folder.open_file(folder.objects(), table_name(id).c_str(), O_RDWR);
  if (fd < 0) return nullptr;
  const Descriptor file(fd);
  struct stat found {};
  std::vector<std::byte> page(kHeaderBytes);
  if (::fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return nullptr;
  if (read_at(fd, page, 0, folder.path() / table_name(id).c_str()) != page.size()) return nullptr;
  auto header = unpacked(page, id);
  if (!header) return nullptr;
  const std::uint64_t blocks = (header->size + header->block_bytes - 1) / header->block_bytes;
  const std::uint64_t bytes = kHeaderBytes + blocks * sizeof(std::uint64_t);
  if (static_cast<std::uint64_t>(found.st_size) != bytes) return nullptr;
  std::shared_ptr<ObjectTable> table(new ObjectTable(folder, id, std::move(*header)));
  if (mapped_tables().fetch_add(1, std::memory_order_relaxed) < most_mapped())
    static_cast<void>(caught([&] { table->map_ = SharedMap(fd, bytes, true); }));
  if (table->map_.data() == nullptr) mapped_tables().fetch_sub(1, std::memory_order_relaxed);
  return table;
}

std::vector<CachedObjectId> cached_ids(const CacheFolder& folder) {
  std::vector<CachedObjectId> ids;
  visit_names(folder.path() / "objects", [&](const char* name) {
    const std::string_view text(name);
    if (!text.ends_with(kTableEnding)) return true;
    if (const auto id = CachedObjectId::parsed(text.substr(0, text.size() - kTableEnding.size()))) ids.push_back(*id);
    return true;
  });
  return ids;
}

std::shared_ptr<ObjectTable> ObjectTable::make(CacheFolder& folder, const CachedObjectId& id, const Header& header) {
  const auto is_it = [&](const std::shared_ptr<ObjectTable>& table) {
    return table != nullptr && table->header_.size == header.size &&
           table->header_.version == header.version.substr(0, kTextBytes / 2) &&
           table->header_.address == without_query(header.address).substr(0, kTextBytes / 2);
  };
  const std::string name = table_name(id).c_str();
  if (auto table = find(folder, id); is_it(table)) return table;
  rlimit longest{};
  // A write beyond the limit would raise SIGXFSZ.
  if (::getrlimit(RLIMIT_FSIZE, &longest) == 0 && longest.rlim_cur < header.size) return nullptr;
  const std::uint64_t blocks = (header.size + header.block_bytes - 1) / header.block_bytes;
  const std::uint64_t bytes = kHeaderBytes + blocks * sizeof(std::uint64_t);
  if (bytes > folder.limit() / 8 || !folder.reserve_first(charged(bytes))) return nullptr;
  const std::scoped_lock guard(folder.making());
  const FolderLock lock(folder.objects().get(), folder.path());
  if (auto table = find(folder, id); is_it(table)) {
    folder.release(charged(bytes));
    return table;
  }
  static std::atomic<unsigned> number{0};
  const std::string temporary = name + "." + std::to_string(::getpid()) + "." + std::to_string(number++) + ".tmp";
  const auto give_up = [&](int failed) -> std::shared_ptr<ObjectTable> {
    ::unlinkat(folder.objects().get(), temporary.c_str(), 0);
    folder.release(charged(bytes));
    if (failed != ENOSPC && failed != EDQUOT && failed != EFBIG)
      throw Error::io(failed, "cannot write to the cache in " + folder.path().string());
    return nullptr;
  };
  const int fd = folder.open_file(folder.objects(), temporary.c_str(), O_RDWR | O_CREAT | O_EXCL);
  if (fd < 0) return give_up(errno);
  const Descriptor file(fd);
  if (const int failed = allocate_file(fd, bytes); failed != 0) return give_up(failed);
  const std::vector<std::byte> page = packed(header, id);
  if (::pwrite(fd, page.data(), page.size(), 0) != static_cast<ssize_t>(page.size())) return give_up(ENOSPC);
  // Replaces an invalid table, or one of another object with the same name, together with its data.
  ::unlinkat(folder.objects().get(), name.c_str(), 0);
  ::unlinkat(folder.objects().get(), data_name(id).c_str(), 0);
  const int data = folder.open_file(folder.objects(), data_name(id).c_str(), O_RDWR | O_CREAT);
  if (data < 0) return give_up(errno);
  const Descriptor bytes_file(data);
  struct stat found {};
  if (::fstat(data, &found) != 0) return give_up(errno);
  if (static_cast<std::uint64_t>(found.st_size) < header.size &&
      ::ftruncate(data, static_cast<off_t>(header.size)) != 0)
    return give_up(errno);
  if (::renameat(folder.objects().get(), temporary.c_str(), folder.objects().get(), name.c_str()) != 0)
    return give_up(errno);
  return find(folder, id);
}

std::uint64_t ObjectTable::block_size(std::uint64_t block) const {
  return std::min(header_.block_bytes, header_.size - block * header_.block_bytes);
}

std::uint32_t ObjectTable::seed(std::uint64_t block) const {
  return static_cast<std::uint32_t>(mix64(id_.low + (block + 1) * 0x9E3779B97F4A7C15));
}

// Returns an empty map if the table file is gone or has changed.
SharedMap ObjectTable::mapped() const {
  SharedMap map;
  static_cast<void>(caught([&] {
    const Descriptor file(folder_.open_file(folder_.objects(), table_name(id_).c_str(), O_RDWR));
    struct stat found {};
    if (file.get() < 0 || ::fstat(file.get(), &found) != 0) return;
    if (static_cast<std::uint64_t>(found.st_size) == table_bytes()) map = SharedMap(file.get(), table_bytes(), true);
  }));
  return map;
}

ObjectTable::Entries::Entries(const ObjectTable& table)
    : table_(table),
      own_(table.map_.data() != nullptr ? SharedMap() : table.mapped()),
      data_(table.map_.data() != nullptr ? table.map_.data() : own_.data()) {}

std::uint64_t* ObjectTable::Entries::at(std::uint64_t block) const {
  return data_ == nullptr ? nullptr : reinterpret_cast<std::uint64_t*>(data_ + kHeaderBytes) + block;
}

std::uint64_t ObjectTable::Entries::copy(std::uint64_t first, std::span<std::uint64_t> entries) const noexcept {
  const std::uint64_t count = std::min<std::uint64_t>(entries.size(), table_.blocks_ - first);
  const std::uint64_t* const from = at(first);
  if (from == nullptr) return 0;
  if (guarded_since([&] {
        for (std::uint64_t i = 0; i < count; ++i)
          entries[i] = std::atomic_ref(const_cast<std::uint64_t&>(from[i])).load(std::memory_order_relaxed);
      }))
    return count;
  table_.torn_.store(true, std::memory_order_relaxed);
  return 0;
}

std::uint64_t ObjectTable::entry(std::uint64_t block) const noexcept {
  if (block >= blocks_) return 0;
  const Entries entries(*this);
  volatile std::uint64_t value = 0;
  std::uint64_t* const place = entries.at(block);
  if (place == nullptr) return 0;
  // acquire: pairs with the exchange in write(), so the bytes were written before the entry
  if (!guarded_since([&] { value = std::atomic_ref(*place).load(std::memory_order_acquire); }))
    torn_.store(true, std::memory_order_relaxed);
  return value;
}

bool ObjectTable::exchange(std::uint64_t block, std::uint64_t from, std::uint64_t to) noexcept {
  const Entries entries(*this);
  volatile bool done = false;
  std::uint64_t* const place = entries.at(block);
  if (place == nullptr) return false;
  if (!guarded_since([&] {
        std::uint64_t expected = from;
        done = std::atomic_ref(*place).compare_exchange_strong(expected, to, std::memory_order_acq_rel);
      }))
    torn_.store(true, std::memory_order_relaxed);
  return done;
}

ObjectTable::Found ObjectTable::read(std::uint64_t offset, std::span<std::byte> bytes, std::uint64_t& bad) noexcept {
  if (bytes.empty()) return Found::sound;
  if (offset > header_.size || bytes.size() > header_.size - offset) return Found::absent;
  const std::uint64_t size = header_.block_bytes, first = offset / size, last = (offset + bytes.size() - 1) / size;
  const std::uint64_t begin = first * size, end = last * size + block_size(last);
  constexpr std::size_t kSome = 64;
  std::array<std::uint64_t, kSome> entries;
  for (std::uint64_t block = first; block <= last; ++block) {
    const std::uint64_t found = entry(block);
    if (found >> 32 != kKept) return Found::absent;
    if (block - first < kSome) entries[block - first] = found;
  }
  // Also reads the rest of the first and last block: a checksum covers the whole block.
  static thread_local std::unique_ptr<std::byte[]> t_beside;
  static thread_local std::uint64_t t_beside_bytes = 0;
  const std::uint64_t before = offset - begin, behind = end - offset - bytes.size();
  if (before + behind > t_beside_bytes) {
    t_beside.reset(new (std::nothrow) std::byte[2 * kLargestBlock]);
    t_beside_bytes = t_beside != nullptr ? 2 * kLargestBlock : 0;
    if (t_beside == nullptr) return Found::absent;
  }
  const Data data(*this);
  if (data.get() < 0) return Found::absent;
  const std::array<iovec, 3> all{
      {{t_beside.get(), before}, {bytes.data(), bytes.size()}, {t_beside.get() + before, behind}}};
  for (std::uint64_t done = 0; done < end - begin;) {
    std::array<iovec, 3> left{};
    std::uint64_t skip = done;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t passed = std::min<std::uint64_t>(skip, all[i].iov_len);
      skip -= passed;
      left[i] = {static_cast<std::byte*>(all[i].iov_base) + passed, all[i].iov_len - passed};
    }
    const ssize_t got = ::preadv(data.get(), left.data(), 3, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      bad = first + done / size;
      return Found::bad;
    }
    done += static_cast<std::uint64_t>(got);
  }
  for (std::uint64_t block = first; block <= last; ++block) {
    std::uint64_t at = block * size;
    const std::uint64_t until = at + block_size(block);
    std::uint32_t crc = seed(block);
    if (at < offset) {
      crc = crc32c({t_beside.get(), static_cast<std::size_t>(before)}, crc);
      at = offset;
    }
    const std::uint64_t wanted_end = std::min(until, offset + bytes.size());
    crc = crc32c(bytes.subspan(at - offset, wanted_end - at), crc);
    if (wanted_end < until) crc = crc32c({t_beside.get() + before, static_cast<std::size_t>(until - wanted_end)}, crc);
    // The checksum must match the entry after the read and, if it was recorded, the entry before it. Other threads and
    // processes may evict and write the block meanwhile.
    const std::uint64_t sound = std::uint64_t{kKept} << 32 | crc, now = entry(block);
    const bool same = now == sound && (block - first >= kSome || entries[block - first] == sound);
    if (same) continue;
    bad = block;
    return now >> 32 == kKept ? Found::bad : Found::absent;
  }
  return Found::sound;
}

int ObjectTable::write(std::uint64_t block, std::span<const std::byte> bytes) noexcept {
  if (block >= blocks_ || bytes.size() != block_size(block)) return EINVAL;
  rlimit longest{};
  const std::uint64_t begin = block * header_.block_bytes;
  // A write beyond the limit would raise SIGXFSZ.
  if (::getrlimit(RLIMIT_FSIZE, &longest) == 0 && longest.rlim_cur < begin + bytes.size()) return EFBIG;
  const std::uint64_t sound = std::uint64_t{kKept} << 32 | crc32c(bytes, seed(block));
  const Data data(*this);
  if (data.get() < 0) return errno != 0 ? errno : EIO;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put =
        ::pwrite(data.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int failed = put < 0 ? errno : ENOSPC;
      if (!has(block)) punch_hole(data.get(), begin, charged(bytes.size()) / 4096 * 4096);
      return failed;
    }
    done += static_cast<std::size_t>(put);
  }
  if (exchange(block, 0, sound)) return 0;
  const std::uint64_t now = entry(block);
  if (now >> 32 == kKept) return EEXIST;
  // The entry is neither valid nor empty: the table was damaged.
  if (exchange(block, now, sound)) return 0;
  if (!has(block)) punch_hole(data.get(), begin, charged(bytes.size()) / 4096 * 4096);
  return EEXIST;
}

bool ObjectTable::evict(std::uint64_t block) noexcept {
  if (block >= blocks_) return false;
  const std::uint64_t now = entry(block);
  if (now >> 32 != kKept) return false;
  const Data data(*this);
  if (data.get() < 0 || !exchange(block, now, 0)) return false;
  return punch_hole(data.get(), block * header_.block_bytes, charged(block_size(block)) / 4096 * 4096) == 0;
}

std::uint64_t ObjectTable::tidy() noexcept {
  std::uint64_t kept = 0;
  each_kept([&](std::uint64_t block) { kept += block_charge(block); });
  const Data data(*this);
  if (data.get() < 0) return kept;
  for (off_t at = 0; at < static_cast<off_t>(header_.size);) {
    const off_t begin = ::lseek(data.get(), at, SEEK_DATA);
    if (begin < 0) break;
    const off_t end = ::lseek(data.get(), begin, SEEK_HOLE);
    at = end > begin ? end : begin + 1;
    const std::uint64_t size = header_.block_bytes, last = (static_cast<std::uint64_t>(at) + size - 1) / size;
    for (std::uint64_t block = static_cast<std::uint64_t>(begin) / size; block < std::min(last, blocks_); ++block)
      if (!has(block)) punch_hole(data.get(), block * size, charged(block_size(block)) / 4096 * 4096);
  }
  return kept;
}

}  // namespace penstock
