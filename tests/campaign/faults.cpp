#include "campaign/faults.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

namespace penstock::campaign {
namespace {

thread_local int spared = 0;

// Counts calls, and says which fail. Relaxed: the count orders nothing, and which of two racing calls fails is no
// matter.
struct Countdown {
  std::atomic<std::uint64_t> calls{0}, first{0}, last{0};

  void set(std::uint64_t from, std::uint64_t count) {
    calls.store(0, std::memory_order_relaxed);
    last.store(count > ~std::uint64_t{0} - from ? ~std::uint64_t{0} : from + count - 1, std::memory_order_relaxed);
    first.store(from, std::memory_order_relaxed);
  }
  bool fails() {
    const std::uint64_t from = first.load(std::memory_order_relaxed);
    if (from == 0 || spared != 0) return false;
    const std::uint64_t number = calls.fetch_add(1, std::memory_order_relaxed) + 1;
    return number >= from && number <= last.load(std::memory_order_relaxed);
  }
};

constexpr std::uint64_t kForEver = ~std::uint64_t{0};

Countdown allocations, threads, reads, opens, maps, writes, syncs, renames;
std::atomic<bool> short_reads{false}, interrupted_reads{false};
std::atomic<std::uint64_t> read_calls{0};

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// What becomes of a read: an errno, or 0 and how much of it is asked of the system.
int fault_of_read(std::size_t& bytes) {
  if (reads.fails()) return EIO;
  if (spared != 0) return 0;
  const bool halved = short_reads.load(std::memory_order_relaxed);
  const bool interrupted = interrupted_reads.load(std::memory_order_relaxed);
  if (!halved && !interrupted) return 0;
  const std::uint64_t call = read_calls.fetch_add(1, std::memory_order_relaxed);
  if (interrupted && call % 3 == 0) return EINTR;
  if (halved && call % 2 == 0 && bytes > 1) bytes /= 2;
  return 0;
}

int refuse(int error) {
  errno = error;
  return -1;
}

// Disks fill up; the counters by which threads wake one another do not.
bool is_of_disk(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

void on_alarm(int) {}

}  // namespace

FaultPlan draw_faults(Draws& draws, bool memory) {
  FaultPlan plan;
  const std::uint64_t kinds = below(draws, 3) == 0 ? 1 + below(draws, 2) : 0;
  for (std::uint64_t i = 0; i < kinds; ++i) {
    switch (memory ? below(draws, 9) : 2 + below(draws, 10)) {
      case 0:
      case 1:
        plan.allocation = 1 + below(draws, one_in(draws, 2) ? 300 : 3000);
        plan.allocations = one_in(draws, 3) ? 1 + below(draws, 50) : 1;
        break;
      case 2:
        plan.thread = 1 + below(draws, 8);
        break;
      case 3:
        plan.read = 1 + below(draws, 60);
        plan.reads = one_in(draws, 2) ? kForEver : 1 + below(draws, 4);
        break;
      case 4:
        plan.short_reads = true;
        break;
      case 5:
        plan.interrupted_reads = true;
        break;
      case 6:
        plan.signals = true;
        break;
      case 7:
        plan.open = 1 + below(draws, 12);
        break;
      case 8:
        plan.map = 1 + below(draws, 4);
        break;
      case 9:
        plan.write = 1 + below(draws, 30);
        break;
      case 10:
        plan.sync = 1 + below(draws, 6);
        break;
      default:
        plan.rename = 1 + below(draws, 6);
    }
  }
  return plan;
}

bool any(const FaultPlan& plan) {
  return !to_string(plan).empty();
}

std::string to_string(const FaultPlan& plan) {
  std::string text;
  const auto add = [&text](const char* what, std::uint64_t number) {
    if (number != 0) text += std::string(", ") + what + " " + std::to_string(number) + " fails";
  };
  add("allocation", plan.allocation);
  add("thread", plan.thread);
  add("read", plan.read);
  add("open", plan.open);
  add("mapping", plan.map);
  add("write", plan.write);
  add("fsync", plan.sync);
  add("rename", plan.rename);
  if (plan.short_reads) text += ", short reads";
  if (plan.interrupted_reads) text += ", interrupted reads";
  if (plan.signals) text += ", signals";
  return text;
}

Faults::Faults(const FaultPlan& plan) {
  read_calls = 0;
  short_reads = plan.short_reads;
  interrupted_reads = plan.interrupted_reads;
  reads.set(plan.read, plan.reads);
  opens.set(plan.open, 1);
  maps.set(plan.map, 1);
  writes.set(plan.write, kForEver);
  syncs.set(plan.sync, kForEver);
  renames.set(plan.rename, kForEver);
  threads.set(plan.thread, kForEver);
  if (plan.signals) {
    struct sigaction action {};
    action.sa_handler = on_alarm;  // without SA_RESTART: calls end in EINTR
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval every{{0, 300}, {0, 300}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
}

void arm_memory(const FaultPlan& plan) {
  allocations.set(plan.allocation, plan.allocations);
}

Spared::Spared() {
  ++spared;
}

Spared::~Spared() {
  --spared;
}

Faults::~Faults() {
  allocations.set(0, 1);
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  for (Countdown* countdown : {&threads, &reads, &opens, &maps, &writes, &syncs, &renames}) countdown->set(0, 1);
  short_reads = interrupted_reads = false;
}

}  // namespace penstock::campaign

using penstock::campaign::refuse;
namespace faults = penstock::campaign;

// The linker takes these before those of libc and libstdc++, for the library's calls too.
void* operator new(std::size_t bytes) {
  if (!faults::allocations.fails()) {
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  }
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  if (!faults::allocations.fails() && ::posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) == 0)
    return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
  static auto* const call =
      faults::real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return faults::threads.fails() ? EAGAIN : call(thread, attributes, body, argument);
}

ssize_t pread(int file, void* to, std::size_t bytes, off_t at) {
  static auto* const call = faults::real<ssize_t(int, void*, std::size_t, off_t)>("pread");
  const int fault = faults::fault_of_read(bytes);
  return fault != 0 ? refuse(fault) : call(file, to, bytes, at);
}
ssize_t pread64(int file, void* to, std::size_t bytes, off64_t at) {
  return pread(file, to, bytes, at);
}
ssize_t read(int file, void* to, std::size_t bytes) {
  static auto* const call = faults::real<ssize_t(int, void*, std::size_t)>("read");
  const int fault = faults::fault_of_read(bytes);
  return fault != 0 ? refuse(fault) : call(file, to, bytes);
}
ssize_t preadv(int file, const iovec* to, int count, off_t at) {
  static auto* const call = faults::real<ssize_t(int, const iovec*, int, off_t)>("preadv");
  std::size_t some = 2;
  const int fault = faults::fault_of_read(some);
  return fault != 0 ? refuse(fault) : call(file, to, some == 1 ? 1 : count, at);
}
ssize_t preadv64(int file, const iovec* to, int count, off64_t at) {
  return preadv(file, to, count, at);
}
ssize_t preadv2(int file, const iovec* to, int count, off_t at, int flags) {
  static auto* const call = faults::real<ssize_t(int, const iovec*, int, off_t, int)>("preadv2");
  std::size_t some = 2;
  const int fault = faults::fault_of_read(some);
  return fault != 0 ? refuse(fault) : call(file, to, some == 1 ? 1 : count, at, flags);
}

int open(const char* path, int flags, ...) {
  static auto* const call = faults::real<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return faults::opens.fails() ? refuse(EMFILE) : call(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  static auto* const call = faults::real<int(int, const char*, int, ...)>("openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return faults::opens.fails() ? refuse(EMFILE) : call(folder, path, flags, mode);
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  static auto* const call = faults::real<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (file >= 0 && faults::maps.fails()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return call(at, bytes, protection, flags, file, offset);
}

ssize_t write(int file, const void* from, std::size_t bytes) {
  static auto* const call = faults::real<ssize_t(int, const void*, std::size_t)>("write");
  return faults::is_of_disk(file) && faults::writes.fails() ? refuse(ENOSPC) : call(file, from, bytes);
}
ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t at) {
  static auto* const call = faults::real<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  return faults::writes.fails() ? refuse(ENOSPC) : call(file, from, bytes, at);
}
ssize_t pwrite64(int file, const void* from, std::size_t bytes, off64_t at) {
  return pwrite(file, from, bytes, at);
}
int fsync(int file) {
  static auto* const call = faults::real<int(int)>("fsync");
  return faults::syncs.fails() ? refuse(EIO) : call(file);
}
int fdatasync(int file) {
  static auto* const call = faults::real<int(int)>("fdatasync");
  return faults::syncs.fails() ? refuse(EIO) : call(file);
}
int rename(const char* from, const char* to) noexcept {
  static auto* const call = faults::real<int(const char*, const char*)>("rename");
  return faults::renames.fails() ? refuse(EACCES) : call(from, to);
}
int renameat(int folder, const char* from, int to_folder, const char* to) noexcept {
  static auto* const call = faults::real<int(int, const char*, int, const char*)>("renameat");
  return faults::renames.fails() ? refuse(EACCES) : call(folder, from, to_folder, to);
}
int renameat2(int folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  static auto* const call = faults::real<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return faults::renames.fails() ? refuse(EACCES) : call(folder, from, to_folder, to, flags);
}

}  // extern "C"
