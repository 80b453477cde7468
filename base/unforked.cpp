#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <base/unforked.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct Stretch {
  void* data;
  std::uint64_t bytes;
};

/// Everything that a child must not inherit. fork() holds the mutex.
struct Withheld {
  std::mutex mutex;  // guards the members below
  std::vector<int> descriptors;
  std::vector<Stretch> mappings;
};

Withheld& withheld() {
  static Withheld& forever = *new Withheld;  // never deleted: threads may outlive static objects
  return forever;
}

void hold_fork() {
  withheld().mutex.lock();
}

void release_parent() {
  withheld().mutex.unlock();
}

// Does not allocate: other threads of the parent may have held the allocator's locks.
void withhold_from_child() {
  Withheld& all = withheld();
  for (const int fd : all.descriptors) ::close(fd);
  for (const Stretch& stretch : all.mappings) {
    ::mmap(stretch.data, stretch.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
           -1, 0);
  }
  all.descriptors.clear();
  all.mappings.clear();
  all.mutex.unlock();
}

std::unique_lock<std::mutex> no_fork() {
  static const int watched = ::pthread_atfork(hold_fork, release_parent, withhold_from_child);
  static_cast<void>(watched);
  return std::unique_lock(withheld().mutex);
}

}  // namespace

UnforkedDescriptor::UnforkedDescriptor(const std::function<int()>& open) : process_(::getpid()) {
  const auto lock = no_fork();
  std::vector<int>& all = withheld().descriptors;
  all.reserve(all.size() + 1);  // so that storing the descriptor cannot fail
  fd_ = open();
  if (fd_ >= 0) all.push_back(fd_);
}

UnforkedDescriptor::UnforkedDescriptor(UnforkedDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), process_(other.process_) {}

UnforkedDescriptor& UnforkedDescriptor::operator=(UnforkedDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(process_, other.process_);
  return *this;
}

UnforkedDescriptor::~UnforkedDescriptor() {
  if (fd_ < 0 || process_ != ::getpid()) return;
  const auto lock = no_fork();
  std::erase(withheld().descriptors, fd_);
  ::close(fd_);
}

UnforkedMapping::UnforkedMapping(int fd, std::uint64_t bytes) : bytes_(bytes), process_(::getpid()) {
  const auto lock = no_fork();
  std::vector<Stretch>& all = withheld().mappings;
  all.reserve(all.size() + 1);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) {
    throw Error::resource("cannot map " + std::to_string(bytes) +
                          " bytes of shared memory: " + std::generic_category().message(errno));
  }
  ::madvise(data, bytes, MADV_HUGEPAGE);  // advice: a refusal only affects speed
  all.push_back({data, bytes});
  data_ = static_cast<std::byte*>(data);
}

UnforkedMapping::UnforkedMapping(UnforkedMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), process_(other.process_) {}

UnforkedMapping& UnforkedMapping::operator=(UnforkedMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(process_, other.process_);
  return *this;
}

UnforkedMapping::~UnforkedMapping() {
  if (data_ == nullptr || process_ != ::getpid()) return;
  const auto lock = no_fork();
  std::erase_if(withheld().mappings, [&](const Stretch& stretch) { return stretch.data == data_; });
  ::munmap(data_, bytes_);
}

}  // namespace penstock
