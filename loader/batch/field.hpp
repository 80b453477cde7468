// One output of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <penstock/transforms/tensor.hpp>

namespace penstock {

/// One output of a batch.
struct Field {
  std::string_view name;
  TensorView values;                      ///< (rows, ...); ragged: (items of all rows, ...); where Batch::device() says
  std::span<const std::int64_t> offsets;  ///< ragged: rows + 1 positions in `values`, on the host; else empty
  template <typename T>
  std::span<const T> as() const {  ///< elements of `values`, unchecked dtype
    return {reinterpret_cast<const T*>(values.data), static_cast<std::size_t>(values.bytes() / sizeof(T))};
  }
};

}  // namespace penstock
