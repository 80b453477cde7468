// Shows one row of a batch to people: its numbers in a line, its pixels as a picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <penstock/batch.hpp>
#include <penstock/chain.hpp>

namespace penstock {

/// The numbers of one row.
struct ValueRange {
  double low = 0, mean = 0, high = 0;  ///< of the finite values
  std::uint64_t count = 0, nans = 0, infinities = 0;
};

/// The row's elements; a view into the batch. `row` < rows of the field.
TensorView row_of(const Field& field, std::uint32_t row);

ValueRange range_of(const TensorView& row);

/// RGB triples, row by row.
struct Picture {
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

/// The pixels of an image output's row, with its chain's normalization inverted. NaN is magenta, values outside 0..255
/// are clipped. Nothing if the row is not 1 or 3 channels of pixels in the chain's layout.
std::optional<Picture> picture_of(const TensorView& row, const Chain& chain);

/// The picture in `columns` characters of a terminal with 24-bit colour: an upper half block for two pixels.
std::string terminal_text(const Picture& picture, std::uint32_t columns);

}  // namespace penstock
