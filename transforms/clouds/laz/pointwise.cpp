// Decodes LAZ of point formats 0 to 5. One stream contains all items of each point in turn.
#include <transforms/clouds/laz/pointwise.hpp>

namespace penstock {
namespace {

// Number (0 to 15) of a point's history, by number of returns and return number (in this order). Invalid combinations
// have one too. Source: LAZ Specification, table of item POINT10, version 2.
constexpr std::uint8_t kReturnMap[8][8] = {
    {15, 14, 13, 12, 11, 10, 9, 8},  {14, 0, 1, 3, 6, 10, 10, 9},    {13, 1, 2, 4, 7, 11, 11, 10},
    {12, 3, 4, 5, 8, 12, 12, 11},    {11, 6, 7, 8, 9, 13, 13, 12},   {10, 10, 11, 12, 13, 14, 14, 13},
    {9, 10, 11, 12, 13, 14, 15, 14}, {8, 9, 10, 11, 12, 13, 14, 15},
};

class Points {
 public:
  void reset(const std::byte* first) {
    std::memcpy(&last_, first, sizeof last_);
    last_.intensity = 0;
    steps_x_ = {}, steps_y_ = {};
    intensities_ = {};
    heights_ = {};
    changed_.reset();
    intensity_.reset();
    for (auto& model : angles_) model.reset();
    source_.reset();
    returns_.reset();
    classes_.reset();
    users_.reset();
    x_.reset(), y_.reset(), z_.reset();
  }

  const LazPoint10& decode(ArithmeticDecoder& decoder) {
    const unsigned changed = decoder.symbol(changed_);
    if ((changed & 32) != 0) last_.returns = returns_.decode(decoder, last_.returns);
    const unsigned number = last_.returns & 7U, returns = last_.returns >> 3 & 7U;
    const unsigned history = kReturnMap[returns][number];
    const unsigned level = returns > number ? returns - number : number - returns;
    decode_rest(decoder, changed, history);

    const unsigned single = returns == 1 ? 1 : 0;
    const std::int32_t step_x = x_.decode(decoder, steps_x_[history].get(), single);
    last_.x = sum(last_.x, step_x);
    steps_x_[history].add(step_x);
    const unsigned width_x = x_.width();
    const std::int32_t step_y =
        y_.decode(decoder, steps_y_[history].get(), single + (width_x < 20 ? width_x & ~1U : 20));
    last_.y = sum(last_.y, step_y);
    steps_y_[history].add(step_y);
    const unsigned width = (width_x + y_.width()) / 2;
    last_.z = heights_[level] = z_.decode(decoder, heights_[level], single + (width < 18 ? width & ~1U : 18));
    return last_;
  }

 private:
  static std::int32_t sum(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }

  void decode_rest(ArithmeticDecoder& decoder, unsigned changed, unsigned history) {
    if ((changed & 16) != 0) {
      intensities_[history] =
          static_cast<std::uint16_t>(intensity_.decode(decoder, intensities_[history], std::min(history, 3U)));
    }
    last_.intensity = intensities_[history];
    if ((changed & 15) == 0) return;
    if ((changed & 8) != 0) last_.classification = classes_.decode(decoder, last_.classification);
    if ((changed & 4) != 0) {
      last_.angle = static_cast<std::uint8_t>(last_.angle + decoder.symbol(angles_[last_.returns >> 6 & 1]));
    }
    if ((changed & 2) != 0) last_.user = users_.decode(decoder, last_.user);
    if ((changed & 1) != 0) last_.source = static_cast<std::uint16_t>(source_.decode(decoder, last_.source));
  }

  LazPoint10 last_{};
  std::array<StreamingMedian, 16> steps_x_, steps_y_;
  std::array<std::uint16_t, 16> intensities_{};
  std::array<std::int32_t, 8> heights_{};
  SymbolModel<64> changed_;
  std::array<SymbolModel<256>, 2> angles_;
  LazByteModels returns_, classes_, users_;
  IntegerDecoder<4, 16> intensity_;
  IntegerDecoder<1, 16> source_;
  IntegerDecoder<2> x_;
  IntegerDecoder<22> y_;
  IntegerDecoder<20> z_;
};

// Extra bytes, each as the difference to the previous point's byte at the same place.
class Bytes {
 public:
  explicit Bytes(std::size_t count) : models_(count), last_(count) {}
  void reset(const std::byte* first) {
    std::copy_n(first, last_.size(), last_.begin());
    for (auto& model : models_) model.reset();
  }
  void decode(ArithmeticDecoder& decoder) {
    for (std::size_t i = 0; i < last_.size(); ++i) {
      last_[i] = static_cast<std::byte>(static_cast<unsigned>(last_[i]) + decoder.symbol(models_[i]));
    }
  }
  std::span<const std::byte> last() const { return last_; }

 private:
  std::vector<SymbolModel<256>> models_;
  std::vector<std::byte> last_;
};

class Times : public LazTimes {
 public:
  void reset(std::uint64_t first) { LazTimes::reset(first, false); }
};

}  // namespace

std::unique_ptr<LazChunkDecoder> pointwise_laz_chunks(const LazFormat& format) {
  if (format.items.at(0).version == 1) return first_laz_chunks(format);
  return std::make_unique<PointwiseLazChunks<Points, Times, LazColours, Bytes>>(format);
}

}  // namespace penstock
