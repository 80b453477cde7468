// Holds the bytes of samples until they are packed, in an unnamed file to which any thread can append.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <formats/io/descriptor.hpp>

namespace penstock {

class SampleSpill {
 public:
  /// Creates the file in `folder`, and the folder if it is missing. The file disappears with this object or the
  /// process.
  /// Throws Error: io.
  explicit SampleSpill(const std::filesystem::path& folder);

  /// Writes the parts contiguously and returns the offset of the first. Throws Error: io, naming the folder.
  /// Thread-safe.
  std::uint64_t append(std::span<const std::span<const std::byte>> parts);
  std::uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  /// A path by which this process can open the file while this object exists.
  std::filesystem::path path() const;

 private:
  void write(std::span<const std::byte> bytes, std::uint64_t offset) const;

  std::filesystem::path folder_;
  Descriptor file_;
  std::atomic<std::uint64_t> size_{0};  // allocates ranges of the file; the caller's lock orders the written data
};

}  // namespace penstock
