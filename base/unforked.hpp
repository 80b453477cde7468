// Descriptors and shared memory that fork() does not hand on to the child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <sys/types.h>

namespace penstock {

/// Owns one descriptor, which is closed in a child that fork() makes: what it holds (a lock, a name, memory) ends with
/// this process, whatever its children do. In the child the object does nothing any more.
class UnforkedDescriptor {
 public:
  UnforkedDescriptor() = default;
  /// `open` returns a descriptor, or -1 and leaves errno as it is to be found. fork() waits meanwhile, so it must be
  /// short.
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

/// Owns a shared, writable mapping of a file, in whose place a child that fork() makes finds zeros of its own.
class UnforkedMapping {
 public:
  UnforkedMapping() = default;
  /// Of the file's first `bytes`, advised to huge pages. Throws Error: resource.
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
