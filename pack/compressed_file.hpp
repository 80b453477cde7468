// Undoes the compression of a whole file (gzip, zlib), piece by piece. No other file calls zlib.
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

/// Tells by the first bytes, and never of what begins as a tar archive or a TFRecord file does. zlib's two bytes may
/// begin other files too, so they count where the name has "tfrec" in it. Throws Error: io.
FileCompression compression_of(const std::filesystem::path& file);

/// Gives the plain bytes of `file` to `take` in order, in pieces of at most 1 MiB, and tells `read` after each of them
/// how many bytes of the file are read. The memory does not depend on the file. Zeros behind the end are padding.
/// Throws Error, naming the file and the offset: corrupt, where the file ends early, is broken, or goes on behind its
/// end; io; resource; and whatever `take` and `read` throw.
void decompress(const std::filesystem::path& file, FileCompression compression,
                const std::function<void(std::span<const std::byte>)>& take,
                const std::function<void(std::uint64_t)>& read);

}  // namespace penstock
