// Recodes JPEG files once during packing, so that every epoch reads and decodes less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <penstock/recoding.hpp>

namespace penstock {

/// Parses the values of --jpeg and --max-side. --jpeg is "keep", "baseline", "recode", "original" or "quality:Q". Q
/// also applies to shrunk files. Throws Error: invalid_argument.
JpegRecoding jpeg_recoding(std::string_view policy, std::int64_t max_side);
/// Returns the policy in the form that jpeg_recoding() parses.
std::string policy_text(const JpegRecoding& recoding);

/// Owns a decompressor, a compressor and scratch memory, reused from file to file. Each thread needs its own recoder.
class JpegRecoder {
 public:
  /// Throws Error: invalid_argument, if quality or side is out of range.
  explicit JpegRecoder(const JpegRecoding& recoding);
  ~JpegRecoder();
  JpegRecoder(JpegRecoder&&) noexcept;

  /// Returns the bytes to store: `file` itself if nothing changes, else bytes that are valid until the next call.
  ///
  /// Chroma sampling and all markers are kept: comments, ICC profile, and EXIF with its orientation, which is not
  /// applied. Files without one or three components (CMYK) become baseline but are never compressed again. Damaged
  /// progressive files stay, because a baseline file would show other pixels. The results of `baseline` and `recode`
  /// are used only after they were read like a loader reads them, without a name, and gave the same pixels. A `jpt`
  /// field is treated like the file from which it was made. Other files that cannot be re-encoded stay unchanged.
  ///
  /// Throws Error: corrupt, unsupported, for damaged `jpt` fields, for files that must be compressed again and cannot
  /// be, and, with `baseline`, for progressive files that a loader cannot read either.
  std::span<const std::byte> recode(std::span<const std::byte> file);
  /// Reason why the last file stayed unchanged although it was to be re-encoded; otherwise empty.
  const std::string& kept_because() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
