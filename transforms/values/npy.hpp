// Decodes NumPy arrays (.npy).
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers the array's dtype and shape, and swaps big-endian elements. Reads versions 1, 2 and 3. header() records
/// everything before the elements. With it, select() returns that part and the requested rows.
/// Throws Error: corrupt (header, too few bytes), unsupported (Fortran order, pickled objects, structures, strings,
/// complex numbers, dates). Bytes after the elements are ignored, as NumPy does.
/// Source: numpy.lib.format, "NPY format".
const Codec& npy_codec();

}  // namespace penstock
