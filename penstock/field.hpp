// One output of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <penstock/tensor.hpp>

namespace penstock {

/// The values of one output, for all rows of a batch.
struct Field {
  std::string_view name;
  TensorView values;                      ///< (rows, ...); ragged: (items of all rows, ...); on Batch::device()
  std::span<const std::int64_t> offsets;  ///< ragged: rows + 1 positions in `values`, on the host; else empty
  /// For rows with sizes of their own: the sizes of each row, one row after the other, on the host. `values` are then
  /// the elements of all rows, one after the other. Row i is an array with its sizes that begins at offsets[i]. Else
  /// empty.
  std::span<const std::int64_t> shapes = {};
  template <typename T>
  std::span<const T> as() const {  ///< elements of `values`; the dtype is not checked
    return {reinterpret_cast<const T*>(values.data), static_cast<std::size_t>(values.bytes() / sizeof(T))};
  }
};

}  // namespace penstock
