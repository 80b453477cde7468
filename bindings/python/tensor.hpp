// The values of a batch in Python: slab memory on the host or a device, described for any array library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <device/device_use.hpp>
#include <penstock/schema.hpp>

#include "dlpack.hpp"

namespace penstock::python {

/// A dense array in C order. Copies, and arrays made of it by DLPack, share `owner`. The slab returns to its pool when
/// the last of them is gone, in any thread, even if the loader no longer exists.
class Tensor {
 public:
  /// `use`: for device memory: when it may be read; owned by `owner`. Null for host memory.
  Tensor(std::shared_ptr<const void> owner, const void* data, DType dtype, Shape shape, DeviceUse* use = nullptr)
      : owner_(std::move(owner)), data_(data), dtype_(dtype), shape_(std::move(shape)), use_(use) {}

  const std::shared_ptr<const void>& owner() const { return owner_; }
  const std::byte* data() const { return static_cast<const std::byte*>(data_); }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::uint64_t bytes() const { return element_count(shape_) * size_of(dtype_); }
  /// Items [begin, end) of the first dimension.
  Tensor slice(std::int64_t begin, std::int64_t end) const;
  /// The same elements in another shape.
  Tensor reshaped(Shape shape) const { return {owner_, data_, dtype_, std::move(shape), use_}; }
  /// Item 0 of the first dimension. The result lacks that dimension.
  Tensor first() const;
  /// A copy in host memory. Waits for pending transfers.
  Tensor copy() const;
  DeviceUse* use() const { return use_; }
  /// Number of the GPU with the memory; nothing for memory that CPUs read.
  std::optional<int> gpu() const;

 private:
  std::shared_ptr<const void> owner_;
  const void* data_;
  DType dtype_;
  Shape shape_;
  DeviceUse* use_;
};

/// Rows of different lengths: row i is values[offsets[i]:offsets[i + 1]].
struct Ragged {
  Tensor values;   ///< (items of all rows, ...)
  Tensor offsets;  ///< (rows + 1,) int64, on the host
  /// Set if rows have different shapes: (rows, dimensions) int64, on the host. `values` then has shape (elements of all
  /// rows,), and row i is an array of shapes[i] that begins at offsets[i].
  std::optional<Tensor> shapes = std::nullopt;
};

dlpack::DataType dlpack_type(DType dtype);

}  // namespace penstock::python
