// Decodes images turned and mirrored as the camera that took them was held.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <penstock/codec.hpp>

namespace penstock {

/// The image that `inner` decodes, with its orientation applied: sizes and regions are those of the upright image, of
/// which only the stored pixels that a region shows are decoded. Source of the numbers: CIPA DC-008 (Exif 2.32), 4.6.4.
class OrientedDecoder final : public Decoder {
 public:
  /// A field's orientation, 1 to 8; called after its header was read. Throws Error: corrupt.
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
  const std::byte* ready_ = nullptr;  ///< the field that was peeked
  Layout stored_, layout_;
  bool transposed_ = false, flipped_x_ = false, flipped_y_ = false;  ///< flips are of the stored image
  std::vector<std::byte> pixels_;
};

}  // namespace penstock
