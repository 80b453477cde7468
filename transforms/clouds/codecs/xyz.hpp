// Decodes clouds in plain text: a point a line (.xyz, .pts, .asc, .csv).
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// Numbers parted by blanks, tabs, commas or semicolons, as many on each line as on the first. The first three are x, y
/// and z; all others are attributes, float64. Lines that begin with "#" or "//" and empty lines are skipped. A first
/// line of words names the columns, and so does a comment before the first point that has as many words as the points
/// have numbers: then "x", "y" and "z" (or "X", "Y", "Z") are the coordinates wherever they stand; columns without a
/// name are "column_4" and so on, counted from 1. A first line with one whole number alone states the number of points,
/// as in .pts files: fewer are an error, and more are read like the others.
///
/// In a table of commas or semicolons (.csv) a cell without a value is NaN, names of columns may contain blanks, names
/// and numbers may stand in double quotes, and a column of words does not matter unless its attribute is asked for. A
/// line of names that are not as many as the columns is an error. A decimal comma is not read as one. A byte order mark
/// at the beginning is passed over.
///
/// Coordinates are told from an origin near the first point, where that is farther than 65,536 from (0, 0, 0); see
/// cloud.hpp. Any value can be text, so nothing is recognised by its first bytes: the name of the file decides.
/// Throws Error: corrupt, with the line.
const CloudCodec& xyz_codec();

}  // namespace penstock
