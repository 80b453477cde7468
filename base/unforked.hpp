// Descriptors and shared memory that a child of fork() does not inherit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <sys/types.h>

namespace penstock {

/// Owns a descriptor that is closed in a child of fork(). Its resource (a lock, a name, memory) therefore ends with
/// this process, even if children live on. In the child the object does nothing.
class UnforkedDescriptor {
 public:
  UnforkedDescriptor() = default;
  /// `open` returns a descriptor, or -1 with errno set. fork() waits during the call, so it must be short.
  explicit UnforkedDescriptor(const std::function<int()>& open);
  UnforkedDescriptor(UnforkedDescriptor&& other) noexcept;
  UnforkedDescriptor& operator=(UnforkedDescriptor&& other) noexcept;
  ~UnforkedDescriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
  pid_t process_ = 0;
};

/// Owns a shared, writable mapping of a file. A child of fork() finds private zeros in its place.
class UnforkedMapping {
 public:
  UnforkedMapping() = default;
  /// Maps the file's first `bytes`, and advises huge pages. Throws Error: resource.
  UnforkedMapping(int fd, std::uint64_t bytes);
  UnforkedMapping(UnforkedMapping&& other) noexcept;
  UnforkedMapping& operator=(UnforkedMapping&& other) noexcept;
  ~UnforkedMapping();

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  pid_t process_ = 0;
};

}  // namespace penstock
