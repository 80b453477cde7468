// Opens a NumPy array, or an archive of arrays, as a dataset: row i is sample i.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Recognises a single file named *.npy or *.npz, or a file that begins like .npy. (A folder of such files is a folder
/// of files, each a value.)
///
/// .npy: N rows are N samples of one field, "value". .npz: each array of N rows is a field with the array's name;
/// shared_rows() decides N. Fields are "raw" with fixed dtype and shape. Keys are the rows' numbers. Rows are extents.
/// Rows of a deflated member are slices of one block, which all samples share (use savez, not savez_compressed, for
/// random access). Each big-endian row is a block.
///
/// Rows of an array in Fortran order are also slices of one block, which holds the whole array in C order.
///
/// Unsupported, with shard and offset: objects (pickles are never read), structures, strings, complex numbers, dates,
/// scalars, rows of 0 bytes. In .npz such an array is left out and named in the attributes ("left_out"). If nothing
/// remains, that is an error. index() throws Error: corrupt, if an array ends before its last row, and the errors of
/// read_zip_entries. A deflated member is decompressed once to read its header, which needs its size in memory. Source:
/// numpy.lib.format, "NPY format".
extern const Format kNpy;

}  // namespace penstock
