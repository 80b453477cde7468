#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <base/sigbus_guard.hpp>
#include <penstock/error.hpp>
#include <record/ledger/file.hpp>

namespace penstock {
namespace {

// Time in ns for which the SIGBUS handler is assumed to stay in place, because other code may install another one.
constexpr std::uint64_t kGuardedFor = 100'000'000;
constexpr std::uint64_t kReserved = std::uint64_t{64} << 10;  // bytes: 1,024 records

[[noreturn]] void cannot_write_ledger(int cause, const std::string& path) {
  throw Error::io(cause, "cannot write the ledger " + path);
}

int second_descriptor(const Descriptor& folder, const std::filesystem::path& shown) {
  const int second = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
  if (second < 0) cannot_write_ledger(errno, shown.string());
  return second;
}

}  // namespace

LedgerFile::LedgerFile(const Descriptor& folder, std::string name, const std::filesystem::path& shown,
                       std::span<const std::byte> header)
    : folder_(second_descriptor(folder, shown)), name_(std::move(name)), shown_(shown), header_bytes_(header.size()) {
  const std::string growing = "." + name_ + ".tmp";
  file_ =
      Descriptor(::openat(folder_.get(), growing.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file_.get() < 0) cannot_write_ledger(errno, path());
  try {
    write_all(file_.get(), header, path());
    size_ = header.size();
    make_room();
    if (::renameat(folder_.get(), growing.c_str(), folder_.get(), name_.c_str()) != 0)
      cannot_write_ledger(errno, path());
  } catch (...) {
    unmap();
    ::unlinkat(folder_.get(), growing.c_str(), 0);
    throw;
  }
}

// Writes zeros instead of calling ftruncate() or fallocate(). If the disk had no room for a mapped page, writing to
// it would raise SIGBUS, and not every file system can reserve space.
void LedgerFile::reserve(std::uint64_t end) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  while (size_ < end) {
    const std::size_t wanted = std::min<std::uint64_t>(kZeros.size(), end - size_);
    const ssize_t put = ::pwrite(file_.get(), kZeros.data(), wanted, static_cast<off_t>(size_));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) cannot_write_ledger(errno, path());
    size_ += static_cast<std::uint64_t>(put);
  }
}

void LedgerFile::map(std::uint64_t begin, std::uint64_t end) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  begin = begin / page * page;
  void* mapping =
      ::mmap(nullptr, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), static_cast<off_t>(begin));
  if (mapping == MAP_FAILED) cannot_write_ledger(errno, path());
  ::madvise(mapping, end - begin, MADV_DONTFORK);
  unmap();
  mapping_ = static_cast<std::byte*>(mapping);
  mapped_begin_ = begin;
  mapped_end_ = end;
}

void LedgerFile::unmap() noexcept {
  if (mapping_ != nullptr) ::munmap(std::exchange(mapping_, nullptr), mapped_end_ - mapped_begin_);
  mapped_end_ = 0;
}

void LedgerFile::is_cut() const {
  throw Error(ErrorKind::io, "cannot write the ledger " + path() + ": it was truncated, or its disk failed");
}

void LedgerFile::make_room() {
  if (cut_) is_cut();
  if (place(records_ + 2) <= mapped_end_) return;
  const std::uint64_t end = place(records_) + kReserved;
  reserve(end);
  map(place(records_), end);
}

void LedgerFile::put(const LedgerRecord& record) {
  const LedgerWords words = words_of(record, records_);
  auto* const to = reinterpret_cast<std::uint64_t*>(mapping_ + (place(records_) - mapped_begin_));
  if (record.time - guarded_ >= kGuardedFor) {
    guard_against_sigbus();
    guarded_ = record.time;
  }
  // The word with the checksum is written last. If the process ends before that, readers find no record.
  const bool written = guarded_since([&] {
    for (std::size_t i = 1; i < words.size(); ++i) std::atomic_ref(to[i]).store(words[i], std::memory_order_relaxed);
    std::atomic_ref(to[0]).store(words[0], std::memory_order_release);
  });
  cut_ = !written;
  if (cut_) is_cut();
  ++records_;
}

void LedgerFile::sync() {
  if (::fdatasync(file_.get()) != 0) cannot_write_ledger(errno, path());
  if (!std::exchange(named_, true) && ::fsync(folder_.get()) != 0 && errno != EINVAL)
    cannot_write_ledger(errno, path());
}

void LedgerFile::close() noexcept {
  if (file_.get() < 0) return;
  unmap();
  if (cut_) {
    // An audit must find the file as it is.
  } else if (records_ == 0) {
    ::unlinkat(folder_.get(), name_.c_str(), 0);
  } else if (::ftruncate(file_.get(), static_cast<off_t>(place(records_))) != 0) {
    // The rest is zeros, which readers take for the end.
  }
  file_ = Descriptor();
}

}  // namespace penstock
