// A view of a dense tensor, without ownership of the memory.
#pragma once

#include <cstddef>

#include <penstock/schema.hpp>

namespace penstock {

/// Elements in C order without gaps. The creator of `data` owns the memory.
struct TensorView {
  std::byte* data = nullptr;
  DType dtype = DType::u8;
  Shape shape;
  std::uint64_t bytes() const { return element_count(shape) * size_of(dtype); }
};

}  // namespace penstock
