#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <base/caught.hpp>
#include <base/sigbus_guard.hpp>
#include <formats/io/folder_entries.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/cache_folder.hpp>
#include <storage/disk_cache/cache_place.hpp>

namespace penstock {

// A page that all processes map.
struct CacheFolder::SharedCounts {
  std::uint64_t magic;
  std::uint64_t limit;
  std::uint64_t used;
};

namespace {

constexpr std::string_view kCacheVersion = "penstock node cache 1\n";
constexpr const char* kNewVersion = "version.tmp";
constexpr std::uint64_t kCountsMagic = 0x31736574'79426450;  // "PdBytes1"
constexpr std::uint64_t kCountsBytes = 4096;
constexpr std::uint64_t kLargestMargin = std::uint64_t{1} << 30;  // upper limit for disk space left free
constexpr std::chrono::milliseconds kDiskLooks{200};
constexpr std::int64_t kGivenBack = 16 << 20;  // upper limit for one deficit, if others fill the disk
constexpr std::chrono::seconds kPause{30};
constexpr std::chrono::seconds kSetUpWait{60};

std::int64_t steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

template <typename T>
std::uint64_t load_shared(const T& value) {
  return std::atomic_ref(const_cast<T&>(value)).load(std::memory_order_relaxed);
}

std::uint64_t margin_of(const struct statvfs& disk) {
  return std::min<std::uint64_t>(kLargestMargin, std::uint64_t{disk.f_blocks} * disk.f_frsize / 50);
}

}  // namespace

FolderLock::FolderLock(int fd, const std::filesystem::path& path) : fd_(fd) {
  const auto until = std::chrono::steady_clock::now() + kSetUpWait;
  while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) throw Error::io(errno, "cannot lock " + path.string());
    if (std::chrono::steady_clock::now() > until)
      throw Error::io(EWOULDBLOCK, "another process holds the cache in " + path.string());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

FolderLock::~FolderLock() {
  ::flock(fd_, LOCK_UN);
}

CacheFolder::CacheFolder(std::filesystem::path path, std::uint64_t limit,
                         const std::function<std::uint64_t(const CacheFolder&)>& recount)
    : path_(std::move(path)) {
  CachePlace place = open_cache_place(path_, true);
  folder_ = std::move(place.folder);
  folder_mode_ = place.folders;
  file_mode_ = place.files;
  unit_ = place.unit;
  guard_against_sigbus();
  const FolderLock lock(folder_.get(), path_);
  set_up(limit, recount);
}

void CacheFolder::require_version() {
  std::array<std::byte, 64> found{};
  const int fd = open_file(folder_, "version", O_RDONLY);
  if (fd >= 0) {
    const Descriptor file(fd);
    const std::size_t got = read_at(file.get(), found, 0, path_ / "version");
    if (got == kCacheVersion.size() && std::memcmp(found.data(), kCacheVersion.data(), got) == 0) return;
    throw Error::unsupported("the cache in " + path_.string() +
                             " belongs to another version of penstock; remove it, or use another folder");
  }
  if (errno != ENOENT) throw Error::io(errno, "cannot open " + (path_ / "version").string());
  bool holds_others = false;
  visit_names(path_, [&](std::string_view name) {
    holds_others = name != kNewVersion;  // a process killed before the rename leaves this file
    return !holds_others;
  });
  if (holds_others)
    throw Error::invalid_argument("cannot cache in " + path_.string() + ": the folder contains other files");
  const int made = open_file(folder_, kNewVersion, O_WRONLY | O_CREAT | O_TRUNC);
  if (made < 0) throw Error::io(errno, "cannot write to " + path_.string());
  const Descriptor file(made);
  write_all(file.get(), std::as_bytes(std::span(kCacheVersion)), path_ / "version");
  if (::renameat(folder_.get(), kNewVersion, folder_.get(), "version") != 0)
    throw Error::io(errno, "cannot write to " + path_.string());
}

// Eviction requires holes. Punching a hole after the end of the file changes nothing and uses no space.
void CacheFolder::require_holes(int fd) const {
  const int failed = punch_hole(fd, kCountsBytes, unit_);
  if (failed == EOPNOTSUPP || failed == ENOSYS)
    throw Error::unsupported("cannot cache in " + path_.string() +
                             ": its file system cannot free a part of a file (punch a hole)");
}

Descriptor CacheFolder::made_folder(const char* name) const {
  if (::mkdirat(folder_.get(), name, folder_mode_) == 0) ::fchmodat(folder_.get(), name, folder_mode_, 0);
  const int fd = ::openat(folder_.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) throw Error::io(errno, "cannot use the cache's folder " + (path_ / name).string());
  return Descriptor(fd);
}

// The caller holds the folder's lock.
void CacheFolder::set_up(std::uint64_t limit, const std::function<std::uint64_t(const CacheFolder&)>& recount) {
  require_version();
  objects_ = made_folder("objects");
  plans_ = made_folder("plans");
  const int users = open_file(folder_, "users", O_RDWR | O_CREAT);
  if (users < 0) throw Error::io(errno, "cannot write to the cache's folder " + path_.string());
  users_ = Descriptor(users);
  // Each user holds a shared lock, so the exclusive lock succeeds only if no other process uses the folder.
  const bool alone = ::flock(users, LOCK_EX | LOCK_NB) == 0;
  const int state = open_file(folder_, "state", O_RDWR | O_CREAT);
  if (state < 0) throw Error::io(errno, "cannot write to the cache's folder " + path_.string());
  const Descriptor file(state);
  require_holes(state);
  struct stat found {};
  if (::fstat(state, &found) != 0) throw Error::io(errno, "cannot read the size of " + (path_ / "state").string());
  if (const int failed =
          found.st_size < static_cast<off_t>(kCountsBytes) || alone ? allocate_file(state, kCountsBytes) : 0;
      failed != 0)
    throw Error::io(failed, "no room for the disk cache in " + path_.string());
  map_ = SharedMap(state, kCountsBytes, true);
  counts_ = reinterpret_cast<SharedCounts*>(map_.data());
  const std::uint64_t taken = alone ? recount(*this) : 0;
  struct statvfs disk {};
  if (::fstatvfs(folder_.get(), &disk) != 0) throw Error::io(errno, "cannot read the free space of " + path_.string());
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const bool held = guarded([&] {
    const bool known = counts_->magic == kCountsMagic && counts_->limit != 0;
    const std::uint64_t chosen = limit != 0 ? limit : known ? counts_->limit : (free + taken) / 10 * 9;
    std::atomic_ref(counts_->limit).store(chosen, std::memory_order_relaxed);
    if (alone || !known) std::atomic_ref(counts_->used).store(taken, std::memory_order_relaxed);
    counts_->magic = kCountsMagic;
  });
  if (!held) throw Error::io(EIO, "cannot use " + (path_ / "state").string());
  if (::flock(users, LOCK_SH | LOCK_NB) != 0) throw Error::io(errno, "cannot lock " + (path_ / "users").string());
  look_at_disk(true);
}

int CacheFolder::open_file(const Descriptor& folder, const char* name, int flags) const noexcept {
  int fd = -1;
  do {
    fd = ::openat(folder.get(), name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, file_mode_);
  } while (fd < 0 && errno == EINTR);
  if (fd >= 0 && (flags & O_CREAT) != 0 && file_mode_ != 0600) ::fchmod(fd, file_mode_);
  return fd;
}

// Updates the free disk space. The cache never fills the disk: a margin stays free for others.
void CacheFolder::look_at_disk(bool now) noexcept {
  const std::int64_t time = steady_now();
  std::int64_t before = looked_at_.load(std::memory_order_relaxed);
  if (!now && time - before < std::chrono::nanoseconds(kDiskLooks).count()) return;
  if (!looked_at_.compare_exchange_strong(before, time, std::memory_order_relaxed)) return;
  struct statvfs disk {};
  if (::fstatvfs(folder_.get(), &disk) != 0) return;
  const auto free = static_cast<std::int64_t>(std::uint64_t{disk.f_bavail} * disk.f_frsize);
  // Some file systems report freed space late, so the deficit is limited: the cache shrinks in small steps.
  disk_left_.store(std::max(free - static_cast<std::int64_t>(margin_of(disk)), -kGivenBack), std::memory_order_relaxed);
}

bool CacheFolder::reserve(std::uint64_t bytes) noexcept {
  look_at_disk(false);
  const auto size = static_cast<std::int64_t>(bytes);
  // Takes the bytes from this process's estimate of the free disk first, and returns them if the shared limit refuses.
  if (disk_left_.fetch_sub(size, std::memory_order_relaxed) < size) {
    disk_left_.fetch_add(size, std::memory_order_relaxed);
    return false;
  }
  bool reserved = false;
  const bool held = guarded_since([&] {
    const std::atomic_ref used(counts_->used);
    const std::uint64_t most = load_shared(counts_->limit);
    std::uint64_t now = used.load(std::memory_order_relaxed);
    while (now + bytes <= most)
      if (used.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed)) {
        *const_cast<volatile bool*>(&reserved) = true;
        break;
      }
  });
  if (!held) stop("its page of counts cannot be read");
  const bool good = held && *const_cast<volatile bool*>(&reserved);
  if (!good) disk_left_.fetch_add(size, std::memory_order_relaxed);
  return good;
}

bool CacheFolder::reserve_first(std::uint64_t bytes) noexcept {
  return reserve(bytes) || (evict_ && evict_(bytes));
}

void CacheFolder::release(std::uint64_t bytes) noexcept {
  disk_left_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  const bool held = guarded_since([&] {
    const std::atomic_ref used(counts_->used);
    std::uint64_t now = used.load(std::memory_order_relaxed);
    while (!used.compare_exchange_weak(now, now < bytes ? 0 : now - bytes, std::memory_order_relaxed)) {
    }
  });
  if (!held) stop("its page of counts cannot be read");
}

std::uint64_t CacheFolder::used() const noexcept {
  volatile std::uint64_t used = 0;
  guarded_since([&] { used = load_shared(counts_->used); });
  return used;
}

std::uint64_t CacheFolder::limit() const noexcept {
  volatile std::uint64_t limit = 0;
  guarded_since([&] { limit = load_shared(counts_->limit); });
  return limit;
}

std::uint64_t CacheFolder::room() noexcept {
  look_at_disk(false);
  const std::uint64_t now = used();
  const std::int64_t left = disk_left_.load(std::memory_order_relaxed);
  const std::uint64_t by_disk =
      left >= 0 ? now + static_cast<std::uint64_t>(left) : now - std::min(now, static_cast<std::uint64_t>(-left));
  return std::min(limit(), by_disk);
}

// Keeps the first reason. If there is no memory for it, a later reason is kept.
void CacheFolder::say(std::string_view why) noexcept {
  const std::scoped_lock lock(mutex_);
  if (reason_.empty()) static_cast<void>(caught([&] { reason_ = why; }));
}

void CacheFolder::stop(std::string_view why) noexcept {
  say(why);
  stopped_.store(true, std::memory_order_relaxed);
}

void CacheFolder::pause(std::string_view why) noexcept {
  say(why);
  paused_until_.store(steady_now() + std::chrono::nanoseconds(kPause).count(), std::memory_order_relaxed);
}

bool CacheFolder::stopped() const noexcept {
  if (stopped_.load(std::memory_order_relaxed)) return true;
  const std::int64_t until = paused_until_.load(std::memory_order_relaxed);
  return until != 0 && steady_now() < until;
}

std::string CacheFolder::stop_reason() const {
  const std::scoped_lock lock(mutex_);
  return reason_;
}

}  // namespace penstock
