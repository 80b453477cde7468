// Decodes text files with one point per line (.xyz, .pts, .asc, .csv).
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// Numbers are separated by blanks, tabs, commas or semicolons. Every line has as many numbers as the first one. The
/// first three are x, y and z; the others are float64 attributes. Lines that begin with "#" or "//" and empty lines are
/// skipped. Column names come from a first line of words, or from a comment before the first point with one word per
/// column. A first line with the words x, y and z contains names. A first line without numbers contains names if its
/// first three words differ and do not begin like a number. Any other first line is a point; its words are errors. The
/// columns "x", "y" and "z" (or "X", "Y", "Z") are the coordinates in any position. Columns without a name are
/// "column_4" and so on, counted from 1. A first line with a single integer states the number of points, as in .pts
/// files. Fewer points are an error; additional ones are read.
///
/// A table with commas or semicolons (.csv) may have empty cells (NaN), column names with blanks, and double quotes
/// around names and numbers. Columns of words are allowed unless their attribute is requested. A line with more or
/// fewer names than columns is an error. Decimal commas are not supported. A byte order mark at the beginning is
/// skipped.
///
/// Coordinates are relative to an origin near the first point if that point is farther than 65,536 from (0, 0, 0); see
/// origin_near(). Any value can be text, so the codec is chosen by the file's name, never by the first bytes.
/// Throws Error: corrupt, with the line.
const CloudCodec& xyz_codec();

}  // namespace penstock
