// Decompresses a whole file (gzip, zlib), piece by piece. No other file calls zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace penstock {

enum class FileCompression : std::uint8_t {
  none,
  gzip,  ///< RFC 1952, in one member or several
  zlib,  ///< RFC 1950, as TensorFlow writes TFRecord files of compression_type="ZLIB"
};

/// Detects the compression by the first bytes. A file that begins like a tar archive or a TFRecord file counts as
/// uncompressed. Other files may begin with the two bytes of zlib, so these only count if the file's name contains
/// "tfrec". Throws Error: io.
FileCompression compression_of(const std::filesystem::path& file);

/// Calls `take` with the decompressed bytes of `file` in order, in pieces of at most 1 MiB. After each piece, calls
/// `read` with the number of compressed bytes read so far. Memory use does not depend on the file's size. Zeros after
/// the end are padding. Throws Error with the file and the offset: corrupt, if the file is truncated, broken, or
/// followed by other bytes; io; resource. Exceptions of `take` and `read` pass through.
void decompress(const std::filesystem::path& file, FileCompression compression,
                const std::function<void(std::span<const std::byte>)>& take,
                const std::function<void(std::uint64_t)>& read);

}  // namespace penstock
