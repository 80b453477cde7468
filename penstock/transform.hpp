// A transform of the user's own: tensor -> tensor of known shape, run by the workers like any other step of a chain.
#pragma once

#include <string_view>

#include <penstock/random.hpp>
#include <penstock/tensor.hpp>

namespace penstock {

/// What is known of a tensor before there is one.
struct TensorType {
  DType dtype = DType::u8;
  Shape shape;  ///< -1 in the first place: it differs from row to row, as after raw() or boxes()
};

/// Put at the end of a chain by transform(std::make_shared<...>()).
///
/// Errors: what is thrown reaches next() with dataset, shard, key and field. Error::corrupt, unsupported and shape say
/// that a sample is bad and follow the loader's on_error; whatever else is thrown, of any type, is raised always.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual std::string_view name() const = 0;
  virtual unsigned version() const { return 1; }  ///< raised when the same input gives other values: part of the state

  /// What becomes of a row: asked once, when the loader is made. Every row must come out alike: no -1.
  /// Throws Error, of any kind, for input that does not fit; the loader raises it with the output's name and chain.
  virtual TensorType output(const TensorType& in) const = 0;
  /// Writes all of `out`. `in` is scratch and may be changed; both are aligned for their dtype and lie apart.
  /// Called by all workers at once; whatever is drawn must come from `random`, a function of seed, epoch, sample, the
  /// output's name and the step's place in its chain.
  virtual void apply(const TensorView& in, const TensorView& out, Random& random) const = 0;
};

}  // namespace penstock
