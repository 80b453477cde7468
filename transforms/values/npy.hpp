// Decodes NumPy arrays (.npy).
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers the array's dtype and shape in C order, and swaps big-endian elements. Reads versions 1, 2 and 3. header()
/// records everything before the elements. With it, select() returns that part and the requested rows. Rows of an array
/// in Fortran order are not contiguous, so it is read whole.
/// Throws Error: corrupt (header, too few bytes), unsupported (pickled objects, structures, strings, complex numbers,
/// dates). Bytes after the elements are ignored, as NumPy does.
/// Source: numpy.lib.format, "NPY format".
const Codec& npy_codec();

}  // namespace penstock
