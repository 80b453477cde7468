// What a batch's values are in Python: memory of a slab, described well enough for any array library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <penstock/formats/schema.hpp>

namespace penstock::python {

/// A dense array in C order. Copies, and whatever took it over by DLPack, share `owner`: the slab goes back to its pool
/// when the last of them is gone, in whatever thread that is, and whether or not the loader is still there.
class Tensor {
 public:
  Tensor(std::shared_ptr<const void> owner, const void* data, DType dtype, Shape shape)
      : owner_(std::move(owner)), data_(data), dtype_(dtype), shape_(std::move(shape)) {}

  const std::shared_ptr<const void>& owner() const { return owner_; }
  const std::byte* data() const { return static_cast<const std::byte*>(data_); }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::uint64_t bytes() const { return element_count(shape_) * size_of(dtype_); }
  /// Items [begin, end) of the first dimension.
  Tensor slice(std::int64_t begin, std::int64_t end) const;
  Tensor copy() const;

 private:
  std::shared_ptr<const void> owner_;
  const void* data_;
  DType dtype_;
  Shape shape_;
};

/// Rows of different length: row i is values[offsets[i]:offsets[i + 1]].
struct Ragged {
  Tensor values;   ///< (items of all rows, ...)
  Tensor offsets;  ///< (rows + 1,) int64
};

}  // namespace penstock::python
