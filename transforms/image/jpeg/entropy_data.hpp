// Reads the entropy-coded data of a scan, without the bytes that JPEG stuffs into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::jpeg {

/// Memory that is reused from scan to scan. Segments are what lies between restart markers.
class EntropyData {
 public:
  /// Bytes behind the end of each segment that may be read.
  static constexpr std::size_t kSlack = 4096;

  /// Takes the data from its first byte to the first marker that is no restart marker, or to the end. False where
  /// restart markers are not numbered in turn or a fill byte stands among the data.
  bool assign(std::span<const std::byte> data);

  std::size_t segments() const { return ends_.size(); }
  std::span<const std::uint8_t> segment(std::size_t number) const {
    const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
    return {bytes_.data() + begin, ends_[number] - begin};
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::size_t> ends_;
};

}  // namespace penstock::jpeg
