// Recodes JPEG files once, when a dataset is packed, so that every epoch reads and decodes less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <penstock/recoding.hpp>

namespace penstock {

/// What --jpeg takes, "keep", "baseline", "recode", "original" or "quality:Q" (Q also counts for what is shrunk), and
/// --max-side.
/// Throws Error: invalid_argument.
JpegRecoding jpeg_recoding(std::string_view policy, std::int64_t max_side);
/// The policy as jpeg_recoding() takes it.
std::string policy_text(const JpegRecoding& recoding);

/// One per thread: owns a decompressor, a compressor and scratch, reused from file to file.
class JpegRecoder {
 public:
  /// Throws Error: invalid_argument, for a quality or side out of range.
  explicit JpegRecoder(const JpegRecoding& recoding);
  ~JpegRecoder();
  JpegRecoder(JpegRecoder&&) noexcept;

  /// The bytes to store in place of `file`: `file` itself where nothing is to be done, else bytes that stay until the
  /// next call. Chroma sampling stays; so do all markers: comments, ICC profile, and EXIF with its orientation, which
  /// is not applied. Files of other than one or three components (CMYK) are made baseline, never compressed again;
  /// damaged progressive files stay as they are, for a baseline file would show other pixels. What `baseline` and
  /// `recode` make of a file is taken only once it was read as a loader reads it, without a name, with the same pixels.
  /// A `jpt` field is taken for the file it was made of. Other files that cannot be made over stay as they are.
  /// Throws Error: corrupt, unsupported, for `jpt` fields that are damaged, files that are to be compressed again and
  /// cannot be, and, of `baseline`, progressive files that a loader cannot read either.
  std::span<const std::byte> recode(std::span<const std::byte> file);
  /// Why the last file was left as it is though it was to be made over; empty when it was not.
  const std::string& kept_because() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
