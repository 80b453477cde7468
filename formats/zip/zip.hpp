// Opens a zip archive as a dataset: every file in it is a field of a sample.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Recognises a file named *.zip, a file that begins with a local header and ends like an archive, and a folder with
/// *.zip but neither folders nor images, arrays or clouds.
///
/// Keys, fields, files left out and class folders follow the rules for a folder of files (folder.hpp). Samples are in
/// the order of the central directory, each at the position of its first file, even if its files are not adjacent.
/// Stored entries are extents. Each deflated or zstd entry is a block. Decompression verifies its CRC-32.
///
/// index() throws the errors of read_zip_entries. It throws invalid_argument if no file counts, if names allow two
/// readings, or if the archive contains splits. It throws corrupt if two files are the same field of one sample.
///
/// Written shards contain stored entries named KEY.FIELD as in tar (formats/tar/names.hpp), dated 1980-01-01. They have
/// zip64 records only if sizes need them. `align`, a power of two up to 32 KiB, moves a sample's first data by an extra
/// field. add() throws Error: unsupported (a key or field that cannot be an entry name, a name of 64 KiB).
extern const Format kZip;

}  // namespace penstock
