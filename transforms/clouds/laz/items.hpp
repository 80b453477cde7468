// The item decoders that pointwise LAZ (formats 0 to 5) and layered LAZ (6 to 10) share.
//
// Source: "LAZ Specification 1.4 - R1", ASPRS.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <transforms/clouds/laz/arithmetic_decoder.hpp>

namespace penstock {

/// GPS times as 64-bit integers, in up to four interleaved sequences, each with its step. Implements version 2 of item
/// GPSTIME11, and versions 3 and 4 of POINT14.
class LazTimes {
 public:
  /// `layered` streams have no code for an unchanged time.
  void reset(std::uint64_t first, bool layered);
  std::uint64_t decode(ArithmeticDecoder& decoder);

 private:
  struct Sequence {
    std::uint64_t time = 0;
    std::int32_t step = 0;
    unsigned extremes = 0;  // number of consecutive codes for a step far off
  };

  bool after_no_step(ArithmeticDecoder& decoder, Sequence& sequence);
  bool after_step(ArithmeticDecoder& decoder, Sequence& sequence);
  void jump(ArithmeticDecoder& decoder, const Sequence& from);
  void far_step(Sequence& sequence, std::int32_t step);

  std::array<Sequence, 4> sequences_;
  unsigned current_ = 0, newest_ = 0;
  bool layered_ = false;
  SymbolModel<516> multiples_;
  SymbolModel<6> first_steps_;
  IntegerDecoder<9> integers_;
};

using LazColour = std::array<std::uint16_t, 3>;  ///< red, green, blue

/// Colours, as differences to the bytes of the colour before. Implements version 2 of item RGB12, and layers.
class LazColours {
 public:
  void reset();
  void decode(ArithmeticDecoder& decoder, LazColour& last);

 private:
  SymbolModel<128> changed_;
  std::array<SymbolModel<256>, 6> differences_;
};

constexpr std::size_t kLazWaveBytes = 29;

/// Wave packet descriptors. Implements version 1 of item WAVEPACKET13, and layers.
class LazWaves {
 public:
  void reset();
  void decode(ArithmeticDecoder& decoder, std::byte* last);  ///< replaces the last descriptor by the next one

 private:
  SymbolModel<256> indexes_;
  std::array<SymbolModel<4>, 4> offset_kinds_;
  IntegerDecoder<1> offsets_, sizes_, places_;
  IntegerDecoder<3> axes_;
  std::int32_t last_difference_ = 0;
  unsigned last_kind_ = 0;
};

}  // namespace penstock
