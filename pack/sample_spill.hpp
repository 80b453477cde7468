// Holds the bytes of samples until they are packed, in an unnamed file that any thread appends to.
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
  /// Makes the file in `folder`, and the folder where it is missing. It is gone with this object or the process.
  /// Throws Error: io.
  explicit SampleSpill(const std::filesystem::path& folder);

  /// Writes the parts one behind the other; returns where the first begins. Throws Error: io, naming the folder.
  std::uint64_t append(std::span<const std::span<const std::byte>> parts);
  std::uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  /// By which this process can open the file, as long as this object lives.
  std::filesystem::path path() const;

 private:
  void write(std::span<const std::byte> bytes, std::uint64_t offset) const;

  std::filesystem::path folder_;
  Descriptor file_;
  std::atomic<std::uint64_t> size_{0};  // hands out ranges; what is written there is ordered by whoever records it
};

}  // namespace penstock
