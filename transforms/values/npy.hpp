// Decodes NumPy arrays (.npy).
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers the array's dtype and shape; big-endian elements are swapped. Versions 1, 2 and 3.
/// header() keeps everything before the elements; with it select() names that part and the rows asked for.
/// Throws Error: corrupt (header, too few bytes), unsupported (Fortran order, pickled objects, structures, strings,
/// complex numbers, dates). Bytes after the elements are ignored, as NumPy does.
/// Source: numpy.lib.format, "NPY format".
const Codec& npy_codec();

}  // namespace penstock
