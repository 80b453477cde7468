// The entropy decoder of LAZ: arithmetic decoding, its adaptive models, and integers as corrections of predictions.
//
// Source: LASzip's specification ("LAZ Specification 1.4 - R1", ASPRS, sections on entropy coding). The coder is from
// A. Said, "Introduction to Arithmetic Coding: Theory and Practice", HP Labs 2004.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace penstock {

[[noreturn]] void throw_bad_stream();  ///< throws Error: corrupt

/// Adaptive probabilities of the symbols 0 to n - 1, from their counts. n is at most `Most`.
template <unsigned Most>
class SymbolModel {
 public:
  void reset(unsigned symbols = Most) {
    symbols_ = symbols;
    std::fill_n(counts_.begin(), symbols, std::uint16_t{1});
    std::fill(begins_.begin() + symbols, begins_.end(), kBehind);
    total_ = 0;
    cycle_ = symbols;
    update();
    left_ = cycle_ = (symbols + 6) >> 1;
  }

  // Returns the symbol whose interval [begin, next begin), in 32768ths of the length, contains `place`.
  unsigned find(unsigned place) const {
    const int biased = static_cast<int>(place) - kBias;
    unsigned symbol = kTable ? first_[place >> kTableShift] : 0;
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi16(static_cast<std::int16_t>(biased));
    // Compares eight intervals at a time, to find the first one that begins after the place.
    for (;; symbol += 8) {
      const __m128i begins = _mm_loadu_si128(reinterpret_cast<const __m128i*>(begins_.data() + symbol + 1));
      const auto behind = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpgt_epi16(begins, wanted)));
      if (behind != 0) return symbol + static_cast<unsigned>(std::countr_zero(behind)) / 2;
    }
#else
    while (begins_[symbol + 1] <= biased) ++symbol;
    return symbol;
#endif
  }

  unsigned begin(unsigned symbol) const {
    return static_cast<unsigned>(begins_[symbol] + kBias);
  }
  bool is_last(unsigned symbol) const {
    return symbol + 1 == symbols_;
  }
  void count(unsigned symbol) {
    ++counts_[symbol];
    if (--left_ == 0) update();
  }

 private:
  static constexpr int kBias = 32768;  // SSE2 compares signed 16-bit numbers
  static constexpr std::int16_t kBehind = 32767;
  static constexpr bool kTable = Most > 8;
  static constexpr unsigned kTableShift = 9;  // ArithmeticDecoder guarantees place <= 32831

  void update() {
    if ((total_ += cycle_) > 32768) {
      total_ = 0;
      for (unsigned i = 0; i < symbols_; ++i) total_ += counts_[i] = static_cast<std::uint16_t>((counts_[i] + 1) >> 1);
    }
    const std::uint32_t scale = 0x80000000U / total_;
    std::uint32_t sum = 0;
    unsigned entry = 0;
    for (unsigned i = 0; i < symbols_; ++i) {
      const std::uint32_t begin = scale * sum >> 16;
      begins_[i] = static_cast<std::int16_t>(static_cast<int>(begin) - kBias);
      sum += counts_[i];
      if constexpr (kTable) {
        while (entry << kTableShift < begin) first_[entry++] = static_cast<std::uint16_t>(i - 1);
      }
    }
    if constexpr (kTable) {
      while (entry < first_.size()) first_[entry++] = static_cast<std::uint16_t>(symbols_ - 1);
    }
    cycle_ = std::min(5 * cycle_ >> 2, (symbols_ + 6) << 3);
    left_ = cycle_;
  }

  std::array<std::int16_t, Most + 8> begins_;  // start of each symbol's interval, biased; then kBehind
  std::array<std::uint16_t, Most> counts_;
  std::array<std::uint16_t, kTable ? 65 : 1> first_;  // for each table entry, the first symbol that its places can have
  unsigned symbols_ = 0, left_ = 0, cycle_ = 0;
  std::uint32_t total_ = 0;
};

class BitModel {
 public:
  void reset() { *this = {}; }
  std::uint32_t zero() const { return zero_; }  ///< probability of 0, in 8192nds
  void count(bool bit) {
    zeros_ += bit ? 0 : 1;
    if (--left_ == 0) update();
  }

 private:
  void update() {
    if ((total_ += cycle_) > 8192) {
      total_ = (total_ + 1) >> 1;
      zeros_ = (zeros_ + 1) >> 1;
      if (zeros_ == total_) ++total_;
    }
    zero_ = zeros_ * (0x80000000U / total_) >> 18;
    left_ = cycle_ = std::min(5 * cycle_ >> 2, 64U);
  }

  std::uint32_t zero_ = 4096, zeros_ = 1, total_ = 2, cycle_ = 4, left_ = 4;
};

/// Decodes symbols from bytes. Every read is checked against the end of the bytes. Throws Error: corrupt.
///
/// Invariants: value < length at all times, and length >= 2^24 between calls. A place, value / (length >> 15), is
/// therefore less than 32768 + 32768 / 512 + 1.
class ArithmeticDecoder {
 public:
  void open(std::span<const std::byte> bytes) {
    if (bytes.size() < 4) throw_bad_stream();
    at_ = bytes.data();
    end_ = at_ + bytes.size();
    value_ = big_endian(at_);
    at_ += 4;
    length_ = 0xFFFFFFFFU;
    if (value_ == length_) throw_bad_stream();
  }
  const std::byte* at() const { return at_; }

  template <unsigned Most>
  unsigned symbol(SymbolModel<Most>& model) {
    const std::uint32_t unit = length_ >> 15;
    const unsigned symbol = model.find(value_ / unit);
    const std::uint32_t begin = model.begin(symbol) * unit;
    const std::uint32_t end = model.is_last(symbol) ? length_ : model.begin(symbol + 1) * unit;
    value_ -= begin;
    length_ = end - begin;
    renew();
    model.count(symbol);
    return symbol;
  }

  bool bit(BitModel& model) {
    const std::uint32_t split = model.zero() * (length_ >> 13);
    const bool bit = value_ >= split;
    value_ -= bit ? split : 0;
    length_ = bit ? length_ - split : split;
    renew();
    model.count(bit);
    return bit;
  }

  /// Reads 1 to 32 bits without a model.
  std::uint32_t bits(unsigned count) {
    if (count > 19) {
      const std::uint32_t low = bits(16);
      return bits(count - 16) << 16 | low;
    }
    length_ >>= count;
    const std::uint32_t value = value_ / length_;
    value_ -= value * length_;
    if (value >> count != 0) throw_bad_stream();
    renew();
    return value;
  }

  std::uint64_t bits64() {
    const std::uint64_t low = bits(32);
    return std::uint64_t{bits(32)} << 32 | low;
  }

 private:
  static std::uint32_t big_endian(const std::byte* at) {
    std::uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return __builtin_bswap32(value);
  }

  // Reads zero to three bytes, so that length is at least 2^24 again. The number of bytes causes no branch, because a
  // processor could not predict it.
  void renew() {
    const unsigned shift = static_cast<unsigned>(std::countl_zero(length_)) & 24U;
    std::uint32_t next;
    if (end_ - at_ >= 4) [[likely]] {
      next = big_endian(at_);
    } else {
      next = last_bytes(shift / 8);
    }
    value_ = static_cast<std::uint32_t>(((std::uint64_t{value_} << 32 | next) << shift) >> 32);
    length_ <<= shift;
    at_ += shift / 8;
  }

  std::uint32_t last_bytes(unsigned wanted) const {
    const auto left = static_cast<std::size_t>(end_ - at_);
    if (wanted > left) throw_bad_stream();
    std::array<std::byte, 4> bytes{};
    std::copy_n(at_, left, bytes.begin());
    return big_endian(bytes.data());
  }

  const std::byte *at_ = nullptr, *end_ = nullptr;
  std::uint32_t value_ = 0, length_ = 0;
};

/// Decodes integers of `Bits` bits as a prediction plus a difference. The stream holds the difference's width in bits,
/// then the difference among those of this width.
template <unsigned Contexts, unsigned Bits = 32>
class IntegerDecoder {
 public:
  void reset() {
    for (auto& width : widths_) width.reset();
    zero_.reset();
    ready_ = 0;
  }
  unsigned width() const { return width_; }  ///< width of the last difference

  std::int32_t decode(ArithmeticDecoder& decoder, std::int32_t predicted, unsigned context = 0) {
    const auto sum = static_cast<std::uint32_t>(predicted) + static_cast<std::uint32_t>(difference(decoder, context));
    auto value = static_cast<std::int32_t>(sum);
    if constexpr (Bits < 32) {
      constexpr std::int32_t kRange = 1 << Bits;
      value += value < 0 ? kRange : value >= kRange ? -kRange : 0;
    }
    return value;
  }

 private:
  static constexpr unsigned kModelled = 8;  // leading bits of a difference that a model predicts

  std::int32_t difference(ArithmeticDecoder& decoder, unsigned context) {
    width_ = decoder.symbol(widths_[context]);
    if (width_ == 0) return decoder.bit(zero_) ? 1 : 0;
    if (width_ == 32) return std::numeric_limits<std::int32_t>::min();
    SymbolModel<1 << kModelled>& model = bits_[width_ - 1];
    if ((ready_ >> width_ & 1) == 0) {
      ready_ |= 1U << width_;
      model.reset(1U << std::min(width_, kModelled));
    }
    std::uint32_t place = decoder.symbol(model);
    if (width_ > kModelled) {
      const unsigned rest = width_ - kModelled;
      place = place << rest | decoder.bits(rest);
    }
    // Places [0, 2^(w-1)) are the differences from -(2^w - 1) on, places [2^(w-1), 2^w) those from 2^(w-1) + 1 on.
    const auto signed_place = static_cast<std::int32_t>(place);
    return place >> (width_ - 1) != 0 ? signed_place + 1 : signed_place - static_cast<std::int32_t>((1U << width_) - 1);
  }

  std::array<SymbolModel<Bits + 1>, Contexts> widths_;
  std::array<SymbolModel<1 << kModelled>, Bits> bits_;  // by width - 1; reset when first used
  BitModel zero_;
  std::uint32_t ready_ = 0;
  unsigned width_ = 0;
};

/// LASzip's running median: five values in order, from which the greatest and the least are dropped in turn.
class StreamingMedian {
 public:
  void reset() { *this = {}; }
  std::int32_t get() const { return v_[2]; }
  void add(std::int32_t v) {
    const std::size_t first = drop_greatest_ ? 0 : 1;  // of the four remaining values
    const std::int32_t a = v_[first], b = v_[first + 1], c = v_[first + 2], d = v_[first + 3];
    drop_greatest_ = drop_greatest_ ? v < v_[2] : v <= v_[2];
    v_ = {std::min(a, v), std::max(a, std::min(b, v)), std::max(b, std::min(c, v)), std::max(c, std::min(d, v)),
          std::max(d, v)};
  }

 private:
  std::array<std::int32_t, 5> v_{};
  bool drop_greatest_ = true;
};

}  // namespace penstock
