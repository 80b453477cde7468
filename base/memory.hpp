// Large aligned memory that is not cleared, because the caller fills it before it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace penstock {

std::uint64_t physical_memory();  ///< of this machine, in bytes

inline constexpr std::uint64_t kOverread = 64;  ///< bytes that codecs may read beyond the end of a value

/// Rounds up to a multiple of `to`.
constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

/// An anonymous, page-aligned mapping. Large mappings are advised to use huge pages. New contents are zeros; growing
/// discards the contents.
class Memory {
 public:
  Memory() = default;
  /// Throws Error: resource, if the system has too little memory.
  explicit Memory(std::uint64_t bytes);

  std::byte* data() const { return data_.get(); }
  std::uint64_t size() const { return data_.get_deleter().bytes; }
  /// Makes room for at least `bytes`, and discards the contents. Keeps a mapping that is large enough; otherwise grows
  /// by at least half.
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
