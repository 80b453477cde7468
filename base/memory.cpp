#include <algorithm>

#include <sys/mman.h>
#include <unistd.h>

#include <base/memory.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

}  // namespace

void Memory::Unmap::operator()(std::byte* data) const {
  ::munmap(data, bytes);
}

std::uint64_t physical_memory() {
  static const std::uint64_t bytes =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

Memory::Memory(std::uint64_t bytes) {
  if (bytes == 0) return;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw Error::resource("cannot map " + std::to_string(bytes) + " bytes of memory");
  if (bytes >= kHugePage) ::madvise(data, bytes, MADV_HUGEPAGE);  // advice: a refusal only affects speed
  data_ = {static_cast<std::byte*>(data), Unmap{bytes}};
}

void Memory::reserve(std::uint64_t bytes) {
  if (bytes <= size()) return;
  const std::uint64_t grown = std::max(bytes, size() + size() / 2);
  *this = {};  // the size is 0 if the allocation below fails
  *this = Memory(grown);
}

}  // namespace penstock
