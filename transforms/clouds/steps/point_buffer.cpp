#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include <penstock/error.hpp>
#include <transforms/clouds/samplers/voxel.hpp>
#include <transforms/clouds/steps/point_buffer.hpp>

namespace penstock {
namespace {

constexpr std::size_t kLane = 16;  // floats; columns begin at multiples of a vector

std::size_t stride_of(std::size_t rows) {
  return (rows + kLane - 1) / kLane * kLane;
}

void grow(std::vector<float>& memory, std::size_t floats) {
  if (memory.size() < floats) memory.resize(floats);
}

}  // namespace

void PointBuffer::reset(std::size_t rows, std::size_t columns) {
  rows_ = rows;
  columns_ = columns;
  stride_ = stride_of(rows);
  grow(data_, stride_ * columns);
  if (numbers_.size() < rows) numbers_.resize(rows);
  std::iota(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(rows), 0U);
}

void PointBuffer::set(const float* rows, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    float* to = column(c);
    for (std::size_t i = 0; i < rows_; ++i) to[i] = rows[i * columns + c];
  }
}

void PointBuffer::get(float* rows, std::size_t columns) const {
  if (columns == 3) {  // one pass, so that rows are written front to back
    const auto [x, y, z, count] = coordinates();
    for (std::size_t i = 0; i < count; ++i) {
      rows[3 * i] = x[i];
      rows[3 * i + 1] = y[i];
      rows[3 * i + 2] = z[i];
    }
    return;
  }
  for (std::size_t c = 0; c < columns; ++c) {
    const float* from = column(c);
    for (std::size_t i = 0; i < rows_; ++i) rows[i * columns + c] = from[i];
  }
}

void PointBuffer::take(std::span<const std::uint32_t> positions) {
  const std::size_t stride = stride_of(positions.size());
  grow(other_, stride * columns_);
  if (other_numbers_.size() < positions.size()) other_numbers_.resize(positions.size());
  for (std::size_t c = 0; c < columns_; ++c) {
    const float* from = column(c);
    float* to = other_.data() + c * stride;
    for (std::size_t i = 0; i < positions.size(); ++i) to[i] = from[positions[i]];
  }
  for (std::size_t i = 0; i < positions.size(); ++i) other_numbers_[i] = numbers_[positions[i]];
  data_.swap(other_);
  numbers_.swap(other_numbers_);
  rows_ = positions.size();
  stride_ = stride;
}

void PointBuffer::average(const ChosenPoints& chosen) {
  const std::size_t rows = chosen.numbers.size(), stride = stride_of(rows);
  grow(other_, stride * columns_);
  for (std::size_t c = 0; c < columns_; ++c) average_cells(chosen, column(c), other_.data() + c * stride);
  other_numbers_.resize(std::max(other_numbers_.size(), rows));
  for (std::size_t i = 0; i < rows; ++i) other_numbers_[i] = numbers_[chosen.numbers[i]];
  data_.swap(other_);
  numbers_.swap(other_numbers_);
  rows_ = rows;
  stride_ = stride;
}

void PointBuffer::pad(std::size_t rows) {
  if (rows <= rows_) return;
  const std::size_t stride = stride_of(rows);
  grow(other_, stride * columns_);
  for (std::size_t c = 0; c < columns_; ++c) {
    float* to = other_.data() + c * stride;
    std::copy_n(column(c), rows_, to);
    std::fill(to + rows_, to + rows, 0.0F);
  }
  numbers_.resize(std::max(numbers_.size(), rows));
  std::fill(numbers_.begin() + static_cast<std::ptrdiff_t>(rows_), numbers_.begin() + static_cast<std::ptrdiff_t>(rows),
            kPadding);
  data_.swap(other_);
  rows_ = rows;
  stride_ = stride;
}

void PointBuffer::add(std::size_t column_number, float offset) {
  float* values = column(column_number);
  for (std::size_t i = 0; i < rows_; ++i) values[i] += offset;
}

void PointBuffer::multiply(float factor) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    float* values = column(axis);
    for (std::size_t i = 0; i < rows_; ++i) values[i] *= factor;
  }
}

bool PointBuffer::finite(std::size_t row) const {
  return std::isfinite(column(0)[row]) && std::isfinite(column(1)[row]) && std::isfinite(column(2)[row]);
}

void PointBuffer::drop_nonfinite() {
  positions_.clear();
  for (std::size_t i = 0; i < rows_; ++i) {
    if (finite(i)) positions_.push_back(static_cast<std::uint32_t>(i));
  }
  if (positions_.size() != rows_) take(positions_);
}

void PointBuffer::require_finite() const {
  const PointColumns points = coordinates();
  unsigned odd = 0;
  for (const float* values : {points.x, points.y, points.z}) {
    for (std::size_t i = 0; i < points.count; ++i) {
      // An exponent of all ones is infinity or NaN.
      constexpr std::uint32_t kExponent = 0x7f800000;
      odd |= static_cast<unsigned>((std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent);
    }
  }
  for (std::size_t i = 0; odd != 0 && i < points.count; ++i) {
    if (!finite(i)) {
      throw Error::corrupt("point " + std::to_string(numbers()[i]) +
                           " has a coordinate that is not finite; points.drop_nonfinite() drops such points");
    }
  }
}

}  // namespace penstock
