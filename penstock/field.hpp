// One output of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <penstock/tensor.hpp>

namespace penstock {

/// One output of a batch.
struct Field {
  std::string_view name;
  TensorView values;                      ///< (rows, ...); ragged: (items of all rows, ...); where Batch::device() says
  std::span<const std::int64_t> offsets;  ///< ragged: rows + 1 positions in `values`, on the host; else empty
  /// Of rows with sizes of their own: those of each row, one row's after the other, on the host. `values` are then
  /// elements, (of all rows,), and row i is an array of these sizes that begins at offsets[i]. Else empty.
  std::span<const std::int64_t> shapes = {};
  template <typename T>
  std::span<const T> as() const {  ///< elements of `values`, unchecked dtype
    return {reinterpret_cast<const T*>(values.data), static_cast<std::size_t>(values.bytes() / sizeof(T))};
  }
};

}  // namespace penstock
