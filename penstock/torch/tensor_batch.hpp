// A batch as named tensors of libtorch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/batch.hpp>
#include <penstock/error.hpp>
#include <penstock/torch/tensor.hpp>

namespace penstock::torch {

/// One output of a batch.
struct TensorField {
  std::string_view name;
  at::Tensor values;   ///< (rows, ...); ragged: (items of all rows, ...)
  at::Tensor offsets;  ///< ragged: int64 (rows + 1,), positions in `values`; else undefined
  /// The sizes of each row: int64 (rows, dimensions), and `values` contains elements. Undefined if all rows have the
  /// same sizes.
  at::Tensor shapes;
};

/// The outputs of one batch as tensors, in the memory of the batch. Only offsets, `__valid__`, and outputs of at most
/// 256 bytes per row, such as labels, are copies. A program may keep the copies for any time.
///
/// The memory returns to the loader when this object, its copies, and all other tensors taken from it (with their
/// views) are gone. Any thread may release the last one. Until then the memory does not change, even after the loader
/// has ended. On a GPU, torch's current stream waits for the values. If another stream uses them, call record_stream().
/// Offsets and `__valid__` are always on the CPU. label() gives int64; other fields have the dtype of their chain.
class TensorBatch {
 public:
  /// Throws Error: unsupported, for a field of a dtype that this PyTorch lacks.
  explicit TensorBatch(Batch batch) : batch_(std::move(batch)) {
    const std::optional<DeviceId> device = batch_.device();
    if (device && device->kind == DeviceId::Kind::cuda) {
      batch_.wait(current_stream(device->number));
    } else {
      batch_.synchronize();
    }
    for (const Field& field : batch_.fields()) {
      at::Tensor values = tensor_of(field.values.data, field.values.dtype, field.values.shape, batch_.slab(), device);
      const bool small = field.values.bytes() <= kCopiedRowBytes * batch_.size();
      fields_.push_back({field.name, small ? values.clone() : values, {}, {}});
      if (!field.offsets.empty()) fields_.back().offsets = vector(field.offsets, DType::i64);
      if (!field.shapes.empty())
        fields_.back().shapes = vector(field.shapes, DType::i64).view({static_cast<std::int64_t>(batch_.size()), -1});
    }
    valid_ = vector(batch_.valid(), DType::boolean);
  }

  /// The values of an output, or `__valid__`. Throws Error: invalid_argument, if there is no output with that name.
  const at::Tensor& operator[](std::string_view name) const {
    return name == "__valid__" ? valid_ : field(name).values;
  }
  /// The limits of a ragged output's rows: row i is values[offsets[i]:offsets[i + 1]]. Throws Error: invalid_argument,
  /// if there is no ragged output with that name.
  const at::Tensor& offsets(std::string_view name) const {
    const TensorField& found = field(name);
    if (!found.offsets.defined())
      throw Error::invalid_argument("the rows of output '" + std::string(name) +
                                    "' have one shape and therefore no offsets");
    return found.offsets;
  }
  /// A view of one row of an output. Throws Error: invalid_argument, if there is no such name or row.
  at::Tensor row(std::string_view name, std::uint32_t row) const {
    const TensorField& found = field(name);
    if (row >= size())
      throw Error::invalid_argument("row " + std::to_string(row) + " is out of range for a batch of " +
                                    std::to_string(size()));
    if (!found.offsets.defined()) return found.values.select(0, row);
    const std::span<const std::int64_t> offsets = batch_[name].offsets;
    at::Tensor items = found.values.slice(0, offsets[row], offsets[row + 1]);
    if (!found.shapes.defined()) return items;
    const std::span<const std::int64_t> shapes = batch_[name].shapes;
    const std::size_t dimensions = shapes.size() / size();
    const auto sizes = shapes.subspan(row * dimensions, dimensions);
    return items.view(at::IntArrayRef(sizes.data(), sizes.size()));
  }
  /// Views of all rows of an output. For a ragged one, torch::nested::nested_tensor() and pad_sequence() accept them.
  /// Throws like row().
  std::vector<at::Tensor> rows(std::string_view name) const {
    std::vector<at::Tensor> all;
    for (std::uint32_t i = 0; i < size(); ++i) all.push_back(row(name, i));
    return all;
  }

  /// Replaces PyTorch's Tensor::record_stream(), which has no effect on this memory. `stream` is the stream's number
  /// (cuda_stream).
  void record_stream(StreamHandle stream) const { batch_.record_stream(stream); }

  std::span<const TensorField> fields() const { return fields_; }  ///< in the order of the loader's options
  /// bool (rows,): false for padding and for invalid rows.
  const at::Tensor& valid() const { return valid_; }
  /// bool (rows,): true for rows that have the sample's value of the output; see Batch::present(). Undefined if
  /// LoaderOptions::missing neither fills nor empties rows of this output.
  at::Tensor present(std::string_view output) const {
    const std::span<const std::uint8_t> rows = batch_.present(output);
    return rows.empty() ? at::Tensor() : vector(rows, DType::boolean);
  }
  std::span<const std::string_view> keys() const { return batch_.keys(); }     ///< valid while this object exists
  std::span<const std::uint64_t> samples() const { return batch_.samples(); }  ///< sample number of each row
  std::uint32_t size() const { return batch_.size(); }                         ///< rows
  std::uint64_t epoch() const { return batch_.epoch(); }
  std::uint64_t number() const { return batch_.number(); }  ///< see Batch::number()

 private:
  static constexpr std::uint64_t kCopiedRowBytes = 256;

  const TensorField& field(std::string_view name) const {
    for (const TensorField& field : fields_) {
      if (field.name == name) return field;
    }
    static_cast<void>(batch_[name]);  // throws, with the names of all outputs
    return fields_.front();
  }
  template <typename Element>
  at::Tensor vector(std::span<const Element> elements, DType dtype) const {
    return tensor_of(elements.data(), dtype, {static_cast<std::int64_t>(elements.size())}, batch_.slab()).clone();
  }

  Batch batch_;
  std::vector<TensorField> fields_;
  at::Tensor valid_;
};

}  // namespace penstock::torch
