// Opens a zip archive as a dataset: every file in it is a field of a sample.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Found: a file named *.zip, or one that begins with a local header and ends as an archive does; or a folder with
/// *.zip in it but neither folders nor images, arrays or clouds.
///
/// Keys, fields, what is left out and class folders are as in a folder of files (folder.hpp); samples stand in the
/// order of the central directory, each where its first file does, also when its files stand apart. Stored entries are
/// extents; deflated and zstd entries are blocks of their own, whose CRC-32 is compared when they are undone.
/// index() throws what read_zip_entries does; invalid_argument, when no file counts, and when names allow two readings
/// or the archive holds splits; corrupt, when two files are the same field of one sample.
///
/// Written shards hold stored entries named KEY.FIELD as in tar (formats/tar/names.hpp), dated 1980-01-01, with zip64
/// records only where sizes need them. `align`, a power of two up to 32 KiB, moves a sample's first data by an extra
/// field. add() throws Error: unsupported (a key or field that no entry can be named by, a name of 64 KiB).
extern const Format kZip;

}  // namespace penstock
