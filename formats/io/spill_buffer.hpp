// Gathers bytes whose position is not known yet: in memory first, then in an unnamed temporary file.
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
  /// `name` is where the temporary file is made, if one is needed; it has no name from then on, so nothing is left
  /// behind by a crash.
  explicit SpillBuffer(std::filesystem::path name) : name_(std::move(name)) {}

  /// Throws Error: io, naming the temporary file.
  void append(std::span<const std::byte> bytes);
  std::uint64_t size() const { return spilled_ + memory_.size(); }
  /// Gives all bytes in order, in runs of a bounded size. Throws Error: io; what `take` throws.
  void drain(const std::function<void(std::span<const std::byte>)>& take) const;
  /// Writes all bytes into the file `fd`, from `offset` on; inside the system, where it can. Throws Error: io, naming
  /// the temporary file or `path`.
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
