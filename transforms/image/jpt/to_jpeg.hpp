// Restores the JPEG file from the coefficients of a `jpt` field.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <transforms/image/jpt/coefficients.hpp>
#include <transforms/image/jpt/format.hpp>
#include <transforms/image/jpt/skeleton.hpp>

namespace penstock::jpt {

/// Writes files, reusing libjpeg's objects. Each thread needs its own writer.
class JpegWriter {
 public:
  JpegWriter();
  ~JpegWriter();
  JpegWriter(JpegWriter&&) noexcept;

  /// Encodes the coefficients with the skeleton's Huffman tables, scans and restart intervals, and puts the skeleton's
  /// pieces around them. Replaces `out`. Returns false if that is impossible, for example if tables change between
  /// scans or libjpeg would not write such scans. The caller must check whether the result equals the original file.
  bool as_it_was(const Skeleton& skeleton, const Frame& frame, const Coefficients& coefficients,
                 std::vector<std::byte>& out);
  /// Writes a baseline file with the same coefficients and optimised Huffman tables. Keeps comments and application
  /// markers.
  /// Throws Error: corrupt, unsupported.
  void baseline(const Skeleton& skeleton, const Frame& frame, const Coefficients& coefficients,
                std::vector<std::byte>& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::jpt
