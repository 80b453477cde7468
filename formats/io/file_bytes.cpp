#include <atomic>
#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <formats/io/file_bytes.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kReadAtMost = std::size_t{64} << 20;
constexpr std::size_t kHeldAtMost = std::size_t{512} << 20;

std::atomic<std::size_t> g_held{0};  // bytes read by this process; relaxed, because it orders nothing

// Reserves `bytes` of the process's limit. Without a limit, every rank of a machine would hold a copy of all indexes of
// a dataset with thousands of shards.
bool may_hold(std::size_t bytes) {
  if (g_held.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kHeldAtMost) return true;
  g_held.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

// Returns whether the file consists of holes: its length says nothing about the written bytes, and reading all of it
// would take very long. st_blocks counts units of 512 bytes. Some file systems report 0 for every file, and compressing
// file systems report less than was written.
bool is_hollow(const struct stat& status) {
  constexpr std::int64_t kMostCompressed = 4096;
  return status.st_blocks > 0 && status.st_size / kMostCompressed > status.st_blocks * 512;
}

}  // namespace

void FileBytes::Unmap::operator()(const std::byte* mapping) const {
  ::munmap(const_cast<std::byte*>(mapping), bytes);
}

void FileBytes::Release::operator()(const std::byte* memory) const {
  ::operator delete(const_cast<std::byte*>(memory));
  g_held.fetch_sub(bytes, std::memory_order_relaxed);
}

FileBytes::FileBytes(const std::filesystem::path& path)
    : FileBytes(Descriptor::open(path, O_RDONLY | O_NONBLOCK), path) {}

FileBytes::FileBytes(std::vector<std::byte> bytes, std::filesystem::path path)
    : owned_(std::move(bytes)), path_(std::move(path)), bytes_(owned_) {}

FileBytes::FileBytes(const Descriptor& file, const std::filesystem::path& path) : path_(path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw Error::io(errno, "cannot stat " + path.string());
  if (!S_ISREG(status.st_mode)) throw Error::io(EINVAL, "not a regular file: " + path.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  if (size <= kReadAtMost && may_hold(size)) {
    read(file, size, path);
    return;
  }
  if (is_hollow(status)) {
    throw Error::corrupt("is a sparse file: " + std::to_string(size) + " bytes, hardly any of them written",
                         {.shard = path.string()});
  }
  map(file, size, path);
}

void FileBytes::read(const Descriptor& file, std::size_t size, const std::filesystem::path& path) {
  auto* const memory = static_cast<std::byte*>(::operator new(size, std::nothrow));
  memory_ = {memory, Release{size}};
  if (memory == nullptr) {
    g_held.fetch_sub(size, std::memory_order_relaxed);
    throw Error::resource("no memory for the " + std::to_string(size) + " bytes of " + path.string());
  }
  bytes_ = {memory, read_at(file.get(), {memory, size}, 0, path)};
}

void FileBytes::map(const Descriptor& file, std::size_t size, const std::filesystem::path& path) {
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) throw Error::io(errno, "cannot map " + path.string());
  mapping_ = {static_cast<const std::byte*>(address), Unmap{size}};
  bytes_ = {mapping_.get(), size};
  guard_ = GuardedMapping(bytes_);
}

void FileBytes::require_whole() const {
  if (mapping_ == nullptr) return;
  constexpr unsigned kReadsUnlooked = 64;  // until then, a handler that replaced the guard goes unnoticed
  static thread_local unsigned reads = 0;
  if (++reads % kReadsUnlooked == 0) guard_against_sigbus();
  if (guard_.torn()) throw Error::io(EIO, "was truncated or became unreadable while in use: " + path_.string());
}

void FileBytes::require_whole(std::span<const std::byte> bytes) const {
  if (mapping_ == nullptr) return;
  constexpr std::size_t kPage = 4096;  // or more: then some pages are touched twice
  for (std::size_t at = 0; at < bytes.size(); at += kPage) *static_cast<const volatile std::byte*>(bytes.data() + at);
  if (!bytes.empty()) *static_cast<const volatile std::byte*>(&bytes.back());
  require_whole();
}

}  // namespace penstock
