// Holds the cloud that a worker transforms: its columns of numbers, and which stored point each row is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <penstock/transforms/clouds/samplers/sampler.hpp>

namespace penstock {

class PointBuffer {
 public:
  static constexpr std::uint32_t kPadding = ~std::uint32_t{0};  ///< number of a row that is no point

  /// Rows without content, numbered 0, 1, 2, ... Memory grows to the largest cloud and is kept.
  void reset(std::size_t rows, std::size_t columns);
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  float* column(std::size_t number) { return data_.data() + number * stride_; }
  const float* column(std::size_t number) const { return data_.data() + number * stride_; }
  PointColumns coordinates() const { return {column(0), column(1), column(2), rows_}; }
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
  /// Rows of zeros at the end.
  void pad(std::size_t rows);

 private:
  std::size_t rows_ = 0, columns_ = 0, stride_ = 0;
  std::vector<float> data_, other_;
  std::vector<std::uint32_t> numbers_, other_numbers_;
};

}  // namespace penstock
