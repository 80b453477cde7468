// Decodes the items of layered LAZ behind POINT14: colours, near infrared, wave packets, extra bytes.
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

/// Last values and models for each channel.
class LazItem14 {
 public:
  LazItem14(const LazItem& item, std::size_t layer_count);
  virtual ~LazItem14() = default;
  std::vector<LazLayer> layers;  ///< opened by the caller before begin()
  const LazItem& item() const { return item_; }

  /// Of a chunk, whose first point's record this is.
  void begin(const std::byte* first, unsigned channel);
  /// The item's bytes of the `count` points that follow, whose records begin `stride` bytes apart.
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
