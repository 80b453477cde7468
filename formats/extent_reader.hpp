// Reads the beginnings of extents, one after the other, for those who look at headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <formats/extent.hpp>
#include <formats/io/byte_source.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Keeps the file open that it read last. Used by one thread at a time; the dataset outlives it.
class ExtentReader {
 public:
  explicit ExtentReader(const Dataset& dataset) : dataset_(dataset) {}

  /// The extent's first `length` bytes, or all that it has, or the file. Throws Error: io; what
  /// Dataset::require_unchanged() throws.
  std::vector<std::byte> beginning(const Extent& extent, std::uint64_t length);

 private:
  const Dataset& dataset_;
  std::optional<std::pair<std::uint32_t, std::shared_ptr<const ByteSource>>> file_;
};

}  // namespace penstock
