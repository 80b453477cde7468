// A custom transform: tensor -> tensor of known shape. Workers run it like any other step of a chain.
#pragma once

#include <string_view>

#include <penstock/random.hpp>
#include <penstock/tensor.hpp>

namespace penstock {

/// The type of a tensor, known before the tensor exists.
struct TensorType {
  DType dtype = DType::u8;
  Shape shape;  ///< -1 as first dimension: it differs from row to row, as after raw() or boxes()
};

/// Base class of custom transforms. transform(std::make_shared<...>()) puts one at the end of a chain.
///
/// Exceptions reach next() with dataset, shard, key and field. Error::corrupt, unsupported and shape mean that the
/// sample is invalid, and the loader's on_error applies. Exceptions of any other type are always raised.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual std::string_view name() const = 0;
  /// increases if the same input gives other values; part of the saved state
  virtual unsigned version() const { return 1; }

  /// The type of the result. Called once, when the loader is made. All rows must have the same shape: no -1. Throws
  /// Error, of any kind, for input that does not fit; the loader adds the output's name and chain.
  virtual TensorType output(const TensorType& in) const = 0;
  /// Writes all of `out`. `in` is scratch memory and may be changed. Both are aligned for their dtype and do not
  /// overlap. All workers call it concurrently. Random draws must come from `random`, a function of seed, epoch,
  /// sample, the output's name and the step's place in its chain.
  virtual void apply(const TensorView& in, const TensorView& out, Random& random) const = 0;
};

}  // namespace penstock
