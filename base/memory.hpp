// Large aligned memory that is never cleared, because something else fills it before it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace penstock {

std::uint64_t physical_memory();  ///< bytes that this machine has

inline constexpr std::uint64_t kOverread = 64;  ///< bytes that codecs may look at beyond a value's end

/// To a multiple of `to`.
constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

/// An anonymous mapping, aligned to the page and advised to huge pages where it is large. Contents start as zeros and
/// survive nothing: growing loses them.
class Memory {
 public:
  Memory() = default;
  /// Throws Error: resource, when the system has no such memory.
  explicit Memory(std::uint64_t bytes);

  std::byte* data() const { return data_.get(); }
  std::uint64_t size() const { return data_.get_deleter().bytes; }
  /// At least `bytes`, contents lost; keeps what is large enough, else grows by half at least.
  void reserve(std::uint64_t bytes);
  std::span<std::byte> first(std::uint64_t bytes) const { return {data(), static_cast<std::size_t>(bytes)}; }

 private:
  struct Unmap {
    std::uint64_t bytes;
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Unmap> data_{nullptr, Unmap{0}};
};

}  // namespace penstock
