// The interface of custom transforms: tensor -> tensor of known shape. Workers run them like other steps of a chain.
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

/// Base class of custom transforms. transform(std::make_shared<...>()) puts one at the end of a chain. All workers
/// share the object and call apply() concurrently. State that changes needs a lock, or thread_local.
///
/// Error::corrupt, unsupported and shape mean that the sample is invalid, and the loader's on_error applies. next()
/// throws every other exception as an Error with dataset, shard, key and field.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual std::string_view name() const = 0;  ///< part of the saved state, and of error messages
  /// Part of the saved state. Increase it if the same input gives other values.
  virtual unsigned version() const { return 1; }

  /// The type of the result, which must not contain -1: all rows have the same shape. Loader's constructor and gains()
  /// call it. Throw an Error of any kind for input that does not fit; the loader adds the output's name and chain.
  virtual TensorType output(const TensorType& in) const = 0;
  /// Writes all of `out`. `in` is scratch memory and may be changed. Both are aligned for their dtype and do not
  /// overlap. Both are valid only during the call. Random draws must come from `random`, a function of seed, epoch,
  /// sample, the output's name and the step's place in its chain.
  virtual void apply(const TensorView& in, const TensorView& out, Random& random) const = 0;
};

}  // namespace penstock
