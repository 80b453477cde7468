// A layer of layered LAZ: the stream of one part of a chunk's points. Scanner channels share it.
#pragma once

#include <array>

#include <transforms/clouds/laz/arithmetic_decoder.hpp>

namespace penstock {

inline constexpr unsigned kLazChannels = 4;  ///< scanner channels; each has separate models

/// The layer is closed if it is empty or not wanted.
struct LazLayer {
  bool wanted = false, open = false;
  ArithmeticDecoder decoder;
};

/// Models of a small number, one for each context. A model is reset when it is first used.
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
