// Reads the first bytes of extents one after the other, for code that examines headers.
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

/// Keeps the last file open. For use by one thread at a time. The dataset must outlive the reader.
class ExtentReader {
 public:
  explicit ExtentReader(const Dataset& dataset) : dataset_(dataset) {}

  /// Returns the first `length` bytes of the extent, or fewer if the extent or the file ends earlier. Throws Error: io,
  /// and the errors of Dataset::require_unchanged().
  std::vector<std::byte> beginning(const Extent& extent, std::uint64_t length);

 private:
  const Dataset& dataset_;
  std::optional<std::pair<std::uint32_t, std::shared_ptr<const ByteSource>>> file_;
};

}  // namespace penstock
