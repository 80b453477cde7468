// One output of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <penstock/tensor.hpp>

namespace penstock {

/// The values of one output, for all rows of a batch.
struct Field {
  std::string_view name;                  ///< of the output, as in LoaderOptions::transforms
  TensorView values;                      ///< (rows, ...); ragged: (items of all rows, ...); on Batch::device()
  std::span<const std::int64_t> offsets;  ///< ragged: rows + 1 positions in `values`, on the host; else empty
  /// The sizes of each row, one row after the other, on the host; empty if all rows have the same sizes. `values`
  /// contains the elements of all rows, one row after the other. The array of row i begins at offsets[i].
  std::span<const std::int64_t> shapes = {};
  template <typename T>
  std::span<const T> as() const {  ///< elements of `values`; the dtype is not checked
    return {reinterpret_cast<const T*>(values.data), static_cast<std::size_t>(values.bytes() / sizeof(T))};
  }
};

}  // namespace penstock
