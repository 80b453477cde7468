// Restores the JPEG file from the coefficients that a `jpt` field holds.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <transforms/image/jpt/coefficients.hpp>
#include <transforms/image/jpt/format.hpp>
#include <transforms/image/jpt/skeleton.hpp>

namespace penstock::jpt {

/// One per thread: owns what libjpeg needs, reused from file to file.
class JpegWriter {
 public:
  JpegWriter();
  ~JpegWriter();
  JpegWriter(JpegWriter&&) noexcept;

  /// Codes the coefficients with the Huffman tables, scans and restarts that the skeleton tells, and puts the
  /// skeleton's pieces around them. Replaces `out`. False where it cannot be done so: tables that change between scans,
  /// scans that libjpeg would not write, and the like. That the result is the original file is for the caller to see.
  bool as_it_was(const Skeleton& skeleton, const Frame& frame, const Coefficients& coefficients,
                 std::vector<std::byte>& out);
  /// A baseline file of the same coefficients with optimised Huffman tables, comments and application markers kept.
  /// Throws Error: corrupt, unsupported.
  void baseline(const Skeleton& skeleton, const Frame& frame, const Coefficients& coefficients,
                std::vector<std::byte>& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::jpt
