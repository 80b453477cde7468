// Recodes point clouds while a dataset is packed, so that every epoch reads only the points that it needs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <penstock/recoding.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// What --presample, --point-order and --point-attributes take: "fps:4096", "voxel:0.05,fps:4096" (of voxel, poisson:
/// the size); "keep", "progressive" or "stratified"; "none", "all" or names with commas between. Throws Error:
/// invalid_argument.
CloudRecoding cloud_recoding(std::string_view presample, std::string_view order, std::string_view attributes);
std::string presample_text(const CloudRecoding& recoding);
std::string_view order_text(const CloudRecoding& recoding);
std::string attributes_text(const CloudRecoding& recoding);

/// One per thread: owns decoders and scratch.
class CloudRecoder {
 public:
  /// Throws Error: invalid_argument, for samplers' options out of range.
  explicit CloudRecoder(const CloudRecoding& recoding);
  ~CloudRecoder();
  CloudRecoder(CloudRecoder&&) noexcept;

  /// A field that it makes over: clouds, by codec.
  static bool takes(const FieldSchema& schema);
  /// The cloud as a value of the codec "points", which stays until the next call. Draws depend on `key` alone, so the
  /// bytes do not depend on what else is packed. The last presample being fps, the points stand in its order.
  /// Of voxel centroids the attributes are those of the cell's first point. Attributes that a cloud lacks are left out
  /// where "all" are asked for, else an error. Throws Error: corrupt, unsupported, shape.
  std::span<const std::byte> recode(const FieldSchema& schema, std::string_view key, std::span<const std::byte> value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
