// A whole file mapped for reading.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace penstock {

/// Owns the mapping; the bytes stay valid after the file is renamed or unlinked, not when it is truncated.
class Mapping {
 public:
  Mapping() = default;
  /// Throws Error: io (path, errno). An empty file maps to no bytes.
  explicit Mapping(const std::filesystem::path& path);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace penstock
