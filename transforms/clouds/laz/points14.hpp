// Decodes POINT14 of layered LAZ: the first 30 bytes of points of formats 6 to 10, in nine layers.
//
// Source: "LAZ Specification 1.4 - R1", ASPRS.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <transforms/clouds/laz/layer.hpp>

namespace penstock {

class LazPoints14 {
 public:
  /// In file order: X, Y and returns; Z; classification; flags; intensity; scan angle; user data; point source; GPS
  /// time.
  enum Layer : unsigned { kXY, kZ, kClass, kFlags, kIntensity, kAngle, kUser, kSource, kTime, kLayers };

  explicit LazPoints14(unsigned version);  ///< version of the item
  ~LazPoints14();
  std::array<LazLayer, kLayers> layers;  ///< the caller opens them before begin()

  /// Starts a chunk. `first` is the record of its first point.
  void begin(const std::byte* first);
  unsigned channel() const { return current_; }  ///< channel of the last point
  /// Decodes the next `count` points, `stride` bytes apart: all 30 bytes if `whole`, else X, Y and Z. Without `whole`,
  /// the layers after kZ are not used. Sets contexts[i] to the channel whose models other items must use for point i.
  void decode(std::byte* out, std::size_t stride, std::size_t count, bool whole, std::uint8_t* contexts);

 private:
  struct Point;
  struct Channel;

  template <bool kWhole>
  void decode_all(std::byte* out, std::size_t stride, std::size_t count, std::uint8_t* contexts);
  template <bool kWhole>
  std::uint8_t decode_one();
  void start(unsigned number, const Point& point, std::uint64_t time);
  Channel& switch_channel(Channel& from, ArithmeticDecoder& xy);
  static void decode_returns(Channel& channel, ArithmeticDecoder& xy, unsigned changed, bool time_changed);
  void decode_xyz(Channel& channel, unsigned number, unsigned count, bool time_changed);
  void decode_rest(Channel& channel, unsigned changed, unsigned kind, bool time_changed);

  unsigned version_;
  unsigned current_ = 0;
  std::array<std::unique_ptr<Channel>, kLazChannels> channels_;
};

}  // namespace penstock
