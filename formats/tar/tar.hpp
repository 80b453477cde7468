// Opens tar archives as datasets by the WebDataset convention: adjacent members with one key are one sample.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Finds: a file named *.tar, or that begins with a tar header; a folder whose *.tar files are its shards, in bytewise
/// order of their names. A file with the name of a compressed archive (*.tar.gz, *.tgz, ...) is found too, so that
/// indexing can say what to do with it.
///
/// Indexes: samples in file order. A member "a/b.seg.png" is field "seg.png" of sample "a/b" (see formats/tar/names.hpp
/// and field_from_extension); a hard link is another name for its target's bytes. Directories, symbolic links, devices
/// and members that belong to no sample are left out; the attributes count those that could be values ("left_out", see
/// formats/tar/left_out.hpp) and name the first ("left_out_example"). Archives that were joined (cat a.tar b.tar) are
/// read to the end: two or more blocks of zeros end an archive only if
/// no header follows them. A header after a lone block is corrupt. Other bytes after blocks of zeros are a warning.
/// Reads headers only. Throws Error: io; corrupt, with shard and offset: what TarMembers finds, a key that comes back
/// after another one (interleaved samples), a field that a sample has twice, a hard link to nothing; unsupported:
/// sparse members, compressed archives.
///
/// Writes: see formats/tar/writer.hpp.
extern const Format kTar;

}  // namespace penstock
