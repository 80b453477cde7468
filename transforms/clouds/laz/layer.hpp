// A layer of layered LAZ: the stream of one part of a chunk's points, and the scanner channels that share it.
#pragma once

#include <array>

#include <transforms/clouds/laz/arithmetic_decoder.hpp>

namespace penstock {

inline constexpr unsigned kLazChannels = 4;  ///< of scanners; each has models of its own

/// Closed where it is empty or not wanted.
struct LazLayer {
  bool wanted = false, open = false;
  ArithmeticDecoder decoder;
};

/// Models of a small number; each made ready when first used.
template <unsigned Symbols, unsigned Contexts>
class LazModelsByContext {
 public:
  void reset() { ready_ = {}; }
  unsigned decode(ArithmeticDecoder& decoder, unsigned context) {
    if (!ready_[context]) models_[context].reset();
    ready_[context] = true;
    return decoder.symbol(models_[context]);
  }

 private:
  std::array<SymbolModel<Symbols>, Contexts> models_;
  std::array<bool, Contexts> ready_{};
};

}  // namespace penstock
