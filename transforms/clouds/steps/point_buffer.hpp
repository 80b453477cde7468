// The cloud that a worker transforms: columns of numbers, and the stored point of each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

class PointBuffer {
 public:
  static constexpr std::uint32_t kPadding = ~std::uint32_t{0};  ///< number of a padding row
  static constexpr std::size_t kAxes = 3;                       ///< columns 0 to 2 hold the coordinates

  /// `normals` is the first of three columns that rotate with the points, or 0 if there are none.
  explicit PointBuffer(std::size_t normals = 0) : normals_(normals) {}

  /// Sets the size. The content is undefined, and rows are numbered 0, 1, 2, ... Memory grows to the largest cloud.
  void reset(std::size_t rows, std::size_t columns);
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  float* column(std::size_t number) { return data_.data() + number * stride_; }
  const float* column(std::size_t number) const { return data_.data() + number * stride_; }
  PointColumns coordinates() const { return {column(0), column(1), column(2), rows_}; }
  std::size_t normals() const { return normals_; }
  /// The number of each row's point in the stored cloud.
  std::span<std::uint32_t> numbers() { return {numbers_.data(), rows_}; }
  std::span<const std::uint32_t> numbers() const { return {numbers_.data(), rows_}; }

  /// Copies between the first columns of this and contiguous rows of `columns` numbers, (rows(), columns).
  void set(const float* rows, std::size_t columns);
  void get(float* rows, std::size_t columns) const;
  /// Sets row i to the former row positions[i]. Rows may be dropped and repeated.
  void take(std::span<const std::uint32_t> positions);
  /// Sets row i to the mean of the cell of entry i of a voxel sampler's result. The row gets the number of the entry's
  /// point.
  void average(const ChosenPoints& chosen);
  /// Appends rows of zeros, numbered kPadding, up to `rows` rows.
  void pad(std::size_t rows);
  void add(std::size_t column, float offset);  ///< to every row
  void multiply(float factor);                 ///< to all coordinates
  bool finite(std::size_t row) const;          ///< whether its coordinates are finite
  void drop_nonfinite();                       ///< drops the rows whose coordinates are not finite
  /// Throws Error: corrupt, naming the first point with a coordinate that is not finite.
  void require_finite() const;
  /// Scratch memory for take().
  std::vector<std::uint32_t>& positions() { return positions_; }

 private:
  std::size_t normals_;
  std::size_t rows_ = 0, columns_ = 0, stride_ = 0;
  std::vector<float> data_, other_;
  std::vector<std::uint32_t> numbers_, other_numbers_, positions_;
};

}  // namespace penstock
