// Opens a NumPy array, or an archive of them, as a dataset: row i is sample i.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Found: a single file named *.npy or *.npz, or one that begins as .npy does. (A folder of such files is a folder of
/// files, each a value.)
///
/// .npy: N rows are N samples of one field, "value". .npz: each array of N rows is a field with the array's name;
/// shared_rows() decides what N is. Fields are "raw" with fixed dtype and shape;
/// keys are the rows' numbers. Rows are extents; of a deflated member slices of one block, which all samples share
/// (write with savez, not savez_compressed, for random access); big-endian rows are blocks of their own.
///
/// Unsupported, with shard and offset: Fortran order of two dimensions or more, objects (pickles are never read),
/// structures, strings, complex numbers, dates, scalars, rows without a byte. In .npz such an array is left out and
/// named in the attributes ("left_out"), and it is an error when nothing remains.
/// index() throws corrupt, when an array ends before its last row, and what read_zip_entries does. A deflated member is
/// undone once to read its header, which takes its size in memory.
/// Source: numpy.lib.format, "NPY format".
extern const Format kNpy;

}  // namespace penstock
