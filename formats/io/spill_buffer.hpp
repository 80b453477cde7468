// Collects bytes whose final position is not yet known: in memory first, then in an unnamed temporary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include <formats/io/descriptor.hpp>
#include <formats/io/writeback.hpp>

namespace penstock {

class SpillBuffer {
 public:
  /// `name` is the path of the temporary file, if one is needed. The file is unlinked at once, so a crash leaves
  /// nothing.
  explicit SpillBuffer(std::filesystem::path name) : name_(std::move(name)) {}

  /// Throws Error: io, with the temporary file.
  void append(std::span<const std::byte> bytes);
  std::uint64_t size() const { return spilled_ + memory_.size(); }
  /// Passes all bytes to `take` in order, in runs of bounded size. Throws Error: io, and the errors of `take`.
  void drain(const std::function<void(std::span<const std::byte>)>& take) const;
  /// Writes all bytes into the file `fd`, from `offset` on. Copies inside the system if possible. Throws Error: io,
  /// with the temporary file or `path`.
  void copy_to(int fd, std::uint64_t offset, const std::filesystem::path& path, Writeback& writeback) const;

 private:
  void spill();
  void drain_from(std::uint64_t done, const std::function<void(std::span<const std::byte>)>& take) const;

  std::filesystem::path name_;
  Descriptor file_;
  std::uint64_t spilled_ = 0;
  std::vector<std::byte> memory_;
};

}  // namespace penstock
