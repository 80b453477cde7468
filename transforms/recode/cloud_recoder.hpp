// Recodes point clouds during packing, so that every epoch reads only the points it needs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <penstock/recoding.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// Parses the values of --presample, --point-order and --point-attributes. Examples are "fps:4096" and
/// "voxel:0.05,fps:4096" (for voxel and poisson, the number is the size); "keep", "progressive" or "stratified";
/// "none", "all" or names separated by commas. Throws Error: invalid_argument.
CloudRecoding cloud_recoding(std::string_view presample, std::string_view order, std::string_view attributes);
std::string presample_text(const CloudRecoding& recoding);
std::string_view order_text(const CloudRecoding& recoding);
std::string attributes_text(const CloudRecoding& recoding);

/// Owns decoders and scratch memory. Each thread needs its own recoder.
class CloudRecoder {
 public:
  /// Throws Error: invalid_argument, if a sampler's options are out of range.
  explicit CloudRecoder(const CloudRecoding& recoding);
  ~CloudRecoder();
  CloudRecoder(CloudRecoder&&) noexcept;

  /// Returns whether the field holds clouds, by its codec.
  static bool takes(const FieldSchema& schema);
  /// Returns the cloud as a value of the codec "points", valid until the next call. Draws depend only on `key`, so the
  /// bytes do not depend on other samples. If the last presample is fps, the points have its order. Voxel centroids
  /// have the attributes of the cell's first point. Missing attributes are an error, unless "all" are requested.
  /// Throws Error: corrupt, unsupported, shape.
  std::span<const std::byte> recode(const FieldSchema& schema, std::string_view key, std::span<const std::byte> value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
