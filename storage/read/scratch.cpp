
#include <sys/mman.h>

#include <penstock/error.hpp>
#include <storage/read/scratch.hpp>

namespace penstock {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSmallPerLarge = 4;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

void ScratchPool::Unmap::operator()(std::byte* memory) const {
  munmap(memory, bytes);
}

ScratchPool::ScratchPool(std::size_t large, std::size_t large_count)
    : large_(whole_pages(large)), small_(whole_pages(large_ / kSmallPerLarge)), memory_(nullptr, Unmap{0}) {
  const std::size_t bytes = large_count * (large_ + kSmallPerLarge * small_);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error::resource("no memory for " + std::to_string(bytes) + " bytes of O_DIRECT buffers");
  memory_ = {static_cast<std::byte*>(memory), Unmap{bytes}};
  std::byte* at = memory_.get();
  for (std::size_t i = 0; i < large_count; ++i, at += large_) free_large_.push_back(at);
  for (std::size_t i = 0; i < large_count * kSmallPerLarge; ++i, at += small_) free_small_.push_back(at);
}

std::span<std::byte> ScratchPool::take(std::size_t bytes) {
  const bool small = bytes <= small_ && !free_small_.empty();
  std::vector<std::byte*>& free = small ? free_small_ : free_large_;
  if (free.empty()) return {};
  std::byte* buffer = free.back();
  free.pop_back();
  return {buffer, small ? small_ : large_};
}

void ScratchPool::give_back(std::span<std::byte> buffer) {
  (buffer.size() == large_ ? free_large_ : free_small_).push_back(buffer.data());
}

}  // namespace penstock
