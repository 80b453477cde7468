// Gives the bytes of a whole file: read into memory where it is small, else mapped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include <base/sigbus_guard.hpp>
#include <formats/io/descriptor.hpp>

namespace penstock {

/// Files of up to 64 MiB are read, as long as all those that a process holds take less than 512 MiB: what happens to
/// the file afterwards does not matter. Larger ones are mapped: the bytes stay valid after the file is renamed or
/// unlinked. Where a mapped file is cut short or its storage fails, bytes turn to zeros, and require_whole() says so.
class FileBytes {
 public:
  FileBytes() = default;
  /// Throws Error: io (path, errno); resource, when there is no memory for it.
  explicit FileBytes(const std::filesystem::path& path);
  /// The same for a file that is open already.
  FileBytes(const Descriptor& file, const std::filesystem::path& path);
  /// Bytes that were read elsewhere; `path` is for messages.
  FileBytes(std::vector<std::byte> bytes, std::filesystem::path path);
  FileBytes(FileBytes&& other) noexcept = default;
  FileBytes& operator=(FileBytes&& other) noexcept = default;
  ~FileBytes() = default;

  std::span<const std::byte> bytes() const { return bytes_; }
  bool mapped() const { return mapping_ != nullptr; }
  /// To be called after bytes were read, before they are believed. Throws Error: io.
  void require_whole() const;
  /// The same once all of `bytes`, which are some of this file's, could be had: they may be read later.
  void require_whole(std::span<const std::byte> bytes) const;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(const std::byte* mapping) const;
  };
  struct Release {  // memory that counts against what a process holds
    std::size_t bytes;
    void operator()(const std::byte* memory) const;
  };

  void read(const Descriptor& file, std::size_t size, const std::filesystem::path& path);
  void map(const Descriptor& file, std::size_t size, const std::filesystem::path& path);

  std::unique_ptr<const std::byte, Release> memory_{nullptr, Release{0}};
  std::unique_ptr<const std::byte, Unmap> mapping_{nullptr, Unmap{0}};
  std::vector<std::byte> owned_;
  GuardedMapping guard_;  // goes before the mapping
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace penstock
