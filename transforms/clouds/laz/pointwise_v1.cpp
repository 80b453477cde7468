// LAZ of point formats 0 to 3 as LASzip wrote it until 2010, with items of version 1.
//
// Source: LASzip 3.4, items POINT10, GPSTIME11, RGB12 and BYTE, version 1; M. Isenburg, "LASzip: lossless compression
// of LiDAR data", PE&RS 79(2), 2013.

#include <transforms/clouds/laz/pointwise.hpp>

namespace penstock {
namespace {

std::int32_t sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

// Median of the last three values.
class LastThree {
 public:
  std::int32_t median() const { return std::max(std::min(v_[0], v_[1]), std::min(std::max(v_[0], v_[1]), v_[2])); }
  void add(std::int32_t value) {
    v_[next_] = value;
    next_ = (next_ + 1) % 3;
  }

 private:
  std::array<std::int32_t, 3> v_{};
  unsigned next_ = 0;
};

class Points {
 public:
  void reset(const std::byte* first) {
    std::memcpy(&last_, first, sizeof last_);
    steps_x_ = {}, steps_y_ = {};
    x_.reset(), y_.reset(), z_.reset();
    changed_.reset();
    intensity_.reset(), angle_.reset(), source_.reset();
    returns_.reset(), classes_.reset(), users_.reset();
  }

  const LazPoint10& decode(ArithmeticDecoder& decoder) {
    const std::int32_t step_x = x_.decode(decoder, steps_x_.median());
    last_.x = sum(last_.x, step_x);
    steps_x_.add(step_x);
    const unsigned width_x = x_.width();
    const std::int32_t step_y = y_.decode(decoder, steps_y_.median(), std::min(width_x, 19U));
    last_.y = sum(last_.y, step_y);
    steps_y_.add(step_y);
    const unsigned width = (width_x + y_.width()) / 2;
    last_.z = z_.decode(decoder, last_.z, std::min(width, 19U));
    if (const unsigned changed = decoder.symbol(changed_); changed != 0) decode_rest(decoder, changed, width);
    return last_;
  }

 private:
  void decode_rest(ArithmeticDecoder& decoder, unsigned changed, unsigned width) {
    if ((changed & 32) != 0) last_.intensity = static_cast<std::uint16_t>(intensity_.decode(decoder, last_.intensity));
    if ((changed & 16) != 0) last_.returns = returns_.decode(decoder, last_.returns);
    if ((changed & 8) != 0) last_.classification = classes_.decode(decoder, last_.classification);
    if ((changed & 4) != 0) {
      last_.angle = static_cast<std::uint8_t>(angle_.decode(decoder, last_.angle, width < 3 ? 1 : 0));
    }
    if ((changed & 2) != 0) last_.user = users_.decode(decoder, last_.user);
    if ((changed & 1) != 0) last_.source = static_cast<std::uint16_t>(source_.decode(decoder, last_.source));
  }

  LazPoint10 last_{};
  LastThree steps_x_, steps_y_;
  IntegerDecoder<1> x_;
  IntegerDecoder<20> y_, z_;
  SymbolModel<64> changed_;
  IntegerDecoder<1, 16> intensity_, source_;
  IntegerDecoder<2, 8> angle_;
  LazByteModels returns_, classes_, users_;
};

class Times {
 public:
  void reset(std::uint64_t first) {
    time_ = first;
    step_ = 0;
    extremes_ = 0;
    multiples_.reset();
    first_steps_.reset();
    integers_.reset();
  }

  std::uint64_t decode(ArithmeticDecoder& decoder) {
    if (step_ != 0) return after_step(decoder);
    const unsigned code = decoder.symbol(first_steps_);
    if (code == 1) advance(step_ = integers_.decode(decoder, 0, 0));
    if (code == 2) time_ = decoder.bits64();
    return time_;
  }

 private:
  static constexpr unsigned kMost = 509;  // greatest multiple of the step; further codes: a time far off, the same time

  std::uint64_t after_step(ArithmeticDecoder& decoder) {
    const unsigned code = decoder.symbol(multiples_);
    if (code > kMost) {
      if (code == kMost + 1) time_ = decoder.bits64();
      return time_;
    }
    std::int32_t step = 0;
    if (code == 0) {
      step = integers_.decode(decoder, step_ / 4, 2);
    } else {
      const auto predicted = static_cast<std::int32_t>(code * static_cast<std::uint32_t>(step_));
      step = integers_.decode(decoder, predicted, code == 1 ? 1 : code < 10 ? 3 : code < 50 ? 4 : 5);
    }
    const bool far = code == 0 || code == kMost;
    if (code == 1 || (far && ++extremes_ > 3)) {
      step_ = step;
      extremes_ = 0;
    }
    return advance(step);
  }

  std::uint64_t advance(std::int32_t step) { return time_ += static_cast<std::uint64_t>(std::int64_t{step}); }

  std::uint64_t time_ = 0;
  std::int32_t step_ = 0;
  unsigned extremes_ = 0;
  SymbolModel<512> multiples_;
  SymbolModel<3> first_steps_;
  IntegerDecoder<6> integers_;
};

class Colours {
 public:
  void reset() {
    changed_.reset();
    bytes_.reset();
  }
  void decode(ArithmeticDecoder& decoder, LazColour& last) {
    const unsigned changed = decoder.symbol(changed_);
    for (unsigned i = 0; i < 6; ++i) {  // low and high byte of each channel
      if ((changed >> i & 1) == 0) continue;
      const unsigned shift = i % 2 * 8;
      std::uint16_t& channel = last[i / 2];
      const std::int32_t byte = bytes_.decode(decoder, channel >> shift & 255, i);
      channel = static_cast<std::uint16_t>((channel & ~(255U << shift)) | static_cast<unsigned>(byte & 255) << shift);
    }
  }

 private:
  SymbolModel<64> changed_;
  IntegerDecoder<6, 8> bytes_;
};

// LASzip shares one set of correctors among all extra bytes; only the models of their widths are separate.
class Bytes {
 public:
  explicit Bytes(std::size_t count) : last_(count) {
    if (count > kMost) throw_bad_stream();
  }
  void reset(const std::byte* first) {
    std::copy_n(first, last_.size(), last_.begin());
    bytes_.reset();
  }
  void decode(ArithmeticDecoder& decoder) {
    for (unsigned i = 0; i < last_.size(); ++i) {
      last_[i] = static_cast<std::byte>(bytes_.decode(decoder, static_cast<std::int32_t>(last_[i]), i));
    }
  }
  std::span<const std::byte> last() const { return last_; }

 private:
  static constexpr unsigned kMost = 256;
  IntegerDecoder<kMost, 8> bytes_;
  std::vector<std::byte> last_;
};

}  // namespace

std::unique_ptr<LazChunkDecoder> first_laz_chunks(const LazFormat& format) {
  return std::make_unique<PointwiseLazChunks<Points, Times, Colours, Bytes>>(format);
}

}  // namespace penstock
