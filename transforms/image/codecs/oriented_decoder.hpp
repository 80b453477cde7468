// Decodes images upright, by the orientation that the camera recorded.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <penstock/codec.hpp>

namespace penstock {

/// Decodes the image of `inner` with its orientation applied. Sizes and regions refer to the upright image. Only the
/// stored pixels that a region shows are decoded. Source of the numbers: CIPA DC-008 (Exif 2.32), 4.6.4.
class OrientedDecoder final : public Decoder {
 public:
  /// Returns a field's orientation, 1 to 8. Called after its header was read. Throws Error: corrupt.
  using Orientation = unsigned (*)(const FieldBytes& field);

  OrientedDecoder(std::unique_ptr<Decoder> inner, Orientation orientation)
      : inner_(std::move(inner)), orientation_of_(orientation) {}

  Layout peek(const FieldBytes& field) override;
  std::optional<Size> shrink(unsigned denominator) override;
  void decode(const FieldBytes& field, const Region* region, TensorView out) override;
  void share(Parallel* parallel) override { inner_->share(parallel); }

 private:
  void turn();
  Region stored(const Region& upright) const;

  std::unique_ptr<Decoder> inner_;
  Orientation orientation_of_;
  const std::byte* ready_ = nullptr;  ///< the peeked field
  Layout stored_, layout_;
  bool transposed_ = false, flipped_x_ = false, flipped_y_ = false;  ///< the flips refer to the stored image
  std::vector<std::byte> pixels_;
};

}  // namespace penstock
