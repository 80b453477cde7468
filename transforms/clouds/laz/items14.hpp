// Decodes the items that follow POINT14 in layered LAZ: colours, near infrared, wave packets, extra bytes.
//
// Source: "LAZ Specification 1.4 - R1", ASPRS.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <transforms/clouds/laz/format.hpp>
#include <transforms/clouds/laz/layer.hpp>

namespace penstock {

/// Decodes an item, with last values and models for each scanner channel.
class LazItem14 {
 public:
  LazItem14(const LazItem& item, std::size_t layer_count);
  virtual ~LazItem14() = default;
  std::vector<LazLayer> layers;  ///< the caller opens them before begin()
  const LazItem& item() const { return item_; }

  /// Starts a chunk. `first` is the record of its first point.
  void begin(const std::byte* first, unsigned channel);
  /// Decodes the item's bytes of the next `count` points. Their records begin `stride` bytes apart.
  void decode(std::byte* out, std::size_t stride, std::size_t count, const std::uint8_t* contexts);

 private:
  virtual void reset(unsigned channel) = 0;
  virtual void decode_one(unsigned channel, std::byte* last) = 0;

  void start(unsigned channel, const std::byte* first);
  unsigned enter(unsigned channel);

  std::vector<std::vector<std::byte>> last_;
  LazItem item_;
  std::array<bool, kLazChannels> used_{};
  unsigned current_ = 0;
};

std::unique_ptr<LazItem14> laz_item14(const LazItem& item);

}  // namespace penstock
