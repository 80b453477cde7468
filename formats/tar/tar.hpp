// Opens tar archives as datasets by the WebDataset convention: adjacent members with one key are one sample.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Recognises a file named *.tar, a file that begins with a tar header, and a folder whose *.tar files are its shards,
/// in bytewise order of their names. Also recognises files named like compressed archives (*.tar.gz, *.tgz, ...), so
/// that indexing can explain what to do.
///
/// Indexes samples in file order. A member "a/b.seg.png" is field "seg.png" of sample "a/b" (see formats/tar/names.hpp
/// and field_from_extension). A hard link is another name for its target's bytes. Directories, symbolic links, devices
/// and members that belong to no sample are left out. The attributes contain the number of those that could be values
/// ("left_out", see formats/tar/left_out.hpp) and the first name ("left_out_example"). Concatenated archives (cat a.tar
/// b.tar) are read to the end: two or more blocks of zeros end an archive only if no header follows them. A header
/// after a single zero block is corrupt. Other bytes after blocks of zeros cause a warning. Reads only headers. Throws
/// Error: io; corrupt, with shard and offset: the errors of TarMembers, a key that returns after another one
/// (interleaved samples), a duplicate field of a sample, a hard link to nothing; unsupported: sparse members,
/// compressed archives.
///
/// For writing, see formats/tar/writer.hpp.
extern const Format kTar;

}  // namespace penstock
