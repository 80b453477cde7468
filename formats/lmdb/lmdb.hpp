// Opens LMDB files as datasets: every value of the main database is an extent of data.mdb.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// A shard is an LMDB folder (data.mdb; made by `pack` as shard-000000.lmdb), or the file itself; a dataset is one of
/// these, or a folder of *.lmdb. Names are "KEY.FIELD", split at the first dot behind the last slash, as in tar; values
/// of one key need not be neighbours, and samples are in the bytewise order of their keys. A name without a dot is the
/// key of a sample with one field, "value", whose codec is found from its bytes; so are all names when the split would
/// give more than 256 fields (names that are decimal numbers). Names that are not printable UTF-8 are shown as their
/// hexadecimal digits. Where named databases hold more than the main one, a database is a field and its names are keys.
/// Values that are Caffe Datums or msgpack maps are samples of several fields (see formats/lmdb/values.hpp), OCR's
/// "image-000000001" is a field before its key (see formats/lmdb/listing.hpp). Values that count or list the others are
/// left out (see formats/lmdb/metadata.hpp) and named in the attributes ("left_out"); what else is left out is counted
/// there ("left_out_databases", "left_out_values", "left_out_members").
///
/// index() throws Error: io; corrupt (offset of the bad page; two values for one field of a sample); unsupported
/// (DUPSORT, reversed names, files of 32-bit or big-endian machines); resource (the file is being written). The
/// writer's add() throws Error: unsupported, when "KEY.FIELD" is longer than 511 bytes; invalid_argument, when it is
/// there already; io. Its bytes depend on the samples and on the machine's page size alone.
extern const Format kLmdb;

}  // namespace penstock
