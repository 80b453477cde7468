// Provides the bytes of a whole file. Small files are read into memory, large files are mapped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include <base/sigbus_guard.hpp>
#include <formats/io/descriptor.hpp>

namespace penstock {

/// Reads files of up to 64 MiB while all of them together take less than 512 MiB of the process. Later changes to such
/// a file have no effect. Larger files are mapped: the bytes stay valid after the file is renamed or unlinked. If a
/// mapped file is truncated or its storage fails, bytes turn to zeros, and require_whole() throws.
class FileBytes {
 public:
  FileBytes() = default;
  /// Throws Error: io (path, errno); resource, if there is not enough memory.
  explicit FileBytes(const std::filesystem::path& path);
  /// The same for an open file.
  FileBytes(const Descriptor& file, const std::filesystem::path& path);
  /// Holds bytes that were read elsewhere. `path` is for messages.
  FileBytes(std::vector<std::byte> bytes, std::filesystem::path path);
  FileBytes(FileBytes&& other) noexcept = default;
  FileBytes& operator=(FileBytes&& other) noexcept = default;
  ~FileBytes() = default;

  std::span<const std::byte> bytes() const { return bytes_; }
  bool mapped() const { return mapping_ != nullptr; }
  /// Call after reading bytes and before trusting them. Throws Error: io.
  void require_whole() const;
  /// Touches all of `bytes`, which must be part of this file, and then checks as above. The bytes may then be read
  /// later.
  void require_whole(std::span<const std::byte> bytes) const;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(const std::byte* mapping) const;
  };
  struct Release {  // memory that counts towards the process's limit
    std::size_t bytes;
    void operator()(const std::byte* memory) const;
  };

  void read(const Descriptor& file, std::size_t size, const std::filesystem::path& path);
  void map(const Descriptor& file, std::size_t size, const std::filesystem::path& path);

  std::unique_ptr<const std::byte, Release> memory_{nullptr, Release{0}};
  std::unique_ptr<const std::byte, Unmap> mapping_{nullptr, Unmap{0}};
  std::vector<std::byte> owned_;
  GuardedMapping guard_;  // destroyed before the mapping
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace penstock
