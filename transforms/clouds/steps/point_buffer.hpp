// Holds the cloud that a worker transforms: its columns of numbers, and which stored point each row is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

class PointBuffer {
 public:
  static constexpr std::uint32_t kPadding = ~std::uint32_t{0};  ///< number of a row that is no point
  static constexpr std::size_t kAxes = 3;                       ///< coordinates stand in columns 0 to 2

  /// `normals`: the first of three columns that turn with the points; 0 where there are none.
  explicit PointBuffer(std::size_t normals = 0) : normals_(normals) {}

  /// Rows without content, numbered 0, 1, 2, ... Memory grows to the largest cloud and is kept.
  void reset(std::size_t rows, std::size_t columns);
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  float* column(std::size_t number) { return data_.data() + number * stride_; }
  const float* column(std::size_t number) const { return data_.data() + number * stride_; }
  PointColumns coordinates() const { return {column(0), column(1), column(2), rows_}; }
  std::size_t normals() const { return normals_; }
  /// Number of each row's point among all that the cloud has.
  std::span<std::uint32_t> numbers() { return {numbers_.data(), rows_}; }
  std::span<const std::uint32_t> numbers() const { return {numbers_.data(), rows_}; }

  /// To and from rows of `columns` numbers in one piece, (rows(), columns): the first columns of this.
  void set(const float* rows, std::size_t columns);
  void get(float* rows, std::size_t columns) const;
  /// Row i becomes what row positions[i] was; rows may be left out and repeated.
  void take(std::span<const std::uint32_t> positions);
  /// Row i becomes entry i of what a voxel sampler chose: the mean of its cell's rows, numbered as the entry's point.
  void average(const ChosenPoints& chosen);
  /// Rows of zeros at the end, until there are so many; their number is kPadding.
  void pad(std::size_t rows);
  void add(std::size_t column, float offset);  ///< to every row
  void multiply(float factor);                 ///< all coordinates
  bool finite(std::size_t row) const;          ///< its coordinates are finite numbers
  /// Throws Error: corrupt, naming the first point with a coordinate that is no finite number.
  void require_finite() const;
  /// Scratch for take().
  std::vector<std::uint32_t>& positions() { return positions_; }

 private:
  std::size_t normals_;
  std::size_t rows_ = 0, columns_ = 0, stride_ = 0;
  std::vector<float> data_, other_;
  std::vector<std::uint32_t> numbers_, other_numbers_, positions_;
};

}  // namespace penstock
