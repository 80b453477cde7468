// A file that several processes map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace penstock {

/// A shared mapping, unmapped by the destructor. The mapping does not need an open descriptor. A child of fork()
/// inherits it.
class SharedMap {
 public:
  SharedMap() = default;
  /// Maps the first `bytes` of the file. Throws Error: resource.
  SharedMap(int fd, std::uint64_t bytes, bool writable);
  SharedMap(SharedMap&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  SharedMap& operator=(SharedMap&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedMap();

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Allocates disk space for the first `bytes` of a file, so that writing to a mapping of them cannot fail. Returns 0 or
/// errno.
int allocate_file(int fd, std::uint64_t bytes) noexcept;
/// Frees the disk space of a range, which then reads as zeros. Returns 0 or errno.
int punch_hole(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace penstock
