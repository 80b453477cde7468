// Opens LMDB files as datasets: every value of the main database is an extent of data.mdb.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// A shard is an LMDB folder (data.mdb; `pack` writes shard-000000.lmdb), or the file itself. A dataset is one shard,
/// or a folder of *.lmdb.
/// - Names are "KEY.FIELD", split at the first dot after the last slash, as in tar. Values of one key need not be
///   neighbours, and samples are in the bytewise order of their keys.
/// - A name without a dot is the key of a sample with one field, "value". The value's bytes decide its codec. If the
///   split would give more than 256 fields (names that are decimal numbers), all names are read this way.
/// - Names that are not printable UTF-8 are shown as their hexadecimal digits.
/// - If named databases hold more values than the main one, a database is a field and its names are keys.
/// - Values that are Caffe Datums or msgpack maps are samples of several fields (see formats/lmdb/values.hpp).
/// - Names such as OCR's "image-000000001" have the field before the key (see formats/lmdb/listing.hpp).
/// - Values that count or list the others are left out (see formats/lmdb/metadata.hpp) and named in the attributes
///   ("left_out"). Other left-out items are counted there ("left_out_databases", "left_out_values",
///   "left_out_members").
///
/// index() throws Error: io; corrupt (offset of the invalid page; two values for one field of a sample); unsupported
/// (DUPSORT, reversed names, files of 32-bit or big-endian machines); resource (the file is being written). The
/// writer's add() throws Error: unsupported, if "KEY.FIELD" is longer than 511 bytes; invalid_argument, if it is
/// already there; io. The written bytes depend only on the samples and on the machine's page size.
extern const Format kLmdb;

}  // namespace penstock
