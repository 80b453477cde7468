// An open file descriptor, with plain reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace penstock {

/// Owns one descriptor, which is closed on exec.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  /// Throws Error: io (path, errno).
  static Descriptor open(const std::filesystem::path& path, int flags, unsigned mode = 0666);
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Reads until `bytes` is full or the file ends. Returns the number of bytes read. Throws Error: io, with `path`.
std::size_t read_at(int fd, std::span<std::byte> bytes, std::uint64_t offset, const std::filesystem::path& path);
/// Writes all of `bytes` at the file's position. Throws Error: io, with `path` (a full disk: "No space left on
/// device").
void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path);
/// Throws Error: io, with `path`.
void sync(int fd, const std::filesystem::path& path);

}  // namespace penstock
