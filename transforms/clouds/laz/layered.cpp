// Decodes LAZ of point formats 6 to 10. A chunk is its first point, then a stream ("layer") for each part of points.
//
//   first record | points u32 | bytes of each layer u32 | the layers
//   layers of POINT14: X, Y and returns | Z | classification | flags | intensity | scan angle | user data |
//                      point source | GPS time
//   then those of the other items: colours | near infrared | wave packet | one for each extra byte
//
// If a layer has no bytes, all points have the first point's value. Each scanner channel has separate models.
#include <algorithm>
#include <array>
#include <cstring>

#include <penstock/error.hpp>
#include <transforms/clouds/laz/chunk.hpp>
#include <transforms/clouds/laz/items14.hpp>
#include <transforms/clouds/laz/points14.hpp>

namespace penstock {
namespace {

class LayeredChunks final : public LazChunkDecoder {
 public:
  LayeredChunks(const LazFormat& format, const std::vector<bool>& wanted) : points_(format.items.at(0).version) {
    auto any = [&](std::size_t begin, std::size_t end) {
      return std::find(wanted.begin() + static_cast<std::ptrdiff_t>(begin),
                       wanted.begin() + static_cast<std::ptrdiff_t>(end),
                       true) != wanted.begin() + static_cast<std::ptrdiff_t>(end);
    };
    constexpr std::array<std::array<std::size_t, 2>, LazPoints14::kLayers> kBytes{
        {{0, 8}, {8, 12}, {16, 17}, {15, 16}, {12, 14}, {18, 20}, {17, 18}, {20, 22}, {22, 30}}};
    for (unsigned i = 0; i < LazPoints14::kLayers; ++i) {
      points_.layers[i].wanted = i <= LazPoints14::kZ || any(kBytes[i][0], kBytes[i][1]);
      layers_.push_back(&points_.layers[i]);
    }
    whole_ = any(kLazCoordinates, wanted.size());
    for (std::size_t i = 1; i < format.items.size(); ++i) add(format.items[i], any);
    record_bytes_ = format.items.back().at + format.items.back().bytes;
  }

  void begin(std::span<const std::byte> bytes) override {
    const std::uint64_t head = record_bytes_ + 4 + 4 * layers_.size();
    if (bytes.size() < head) throw_bad_stream();
    std::memcpy(&left_, bytes.data() + record_bytes_, sizeof left_);
    first_ = bytes.data();
    at_first_ = true;
    std::uint64_t at = head;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      std::uint32_t length;
      std::memcpy(&length, bytes.data() + record_bytes_ + 4 + 4 * i, sizeof length);
      if (length > bytes.size() - at) throw_bad_stream();
      layers_[i]->open = layers_[i]->wanted && length > 0;
      if (layers_[i]->open) layers_[i]->decoder.open(bytes.subspan(at, length));
      at += length;
    }
    end_ = bytes.data() + at;
    points_.begin(first_);
    for (auto& item : items_) item->begin(first_, points_.channel());
  }

  void decode(std::byte* out, std::size_t stride, std::size_t count) override {
    if (count > left_) throw_bad_stream();
    left_ -= static_cast<std::uint32_t>(count);
    if (count > 0 && at_first_) {
      std::memcpy(out, first_, stride);
      out += stride;
      --count;
      at_first_ = false;
    }
    if (count > 0 && !points_.layers[LazPoints14::kXY].open) throw_bad_stream();
    contexts_.resize(std::max(contexts_.size(), count));
    const bool whole = whole_ && stride != kLazCoordinates;
    points_.decode(out, stride, count, whole, contexts_.data());
    if (!whole) return;
    for (auto& item : items_) item->decode(out, stride, count, contexts_.data());
  }

  const std::byte* end() const override { return end_; }

 private:
  template <class Any>
  void add(const LazItem& item, Any any) {
    auto other = laz_item14(item);
    bool needed = false;
    for (std::size_t i = 0; i < other->layers.size(); ++i) {
      // Near infrared (bytes 6 and 7 of its item) has a separate layer, and so has each extra byte. Other items have
      // one layer.
      std::size_t begin = item.at, end = item.at + item.bytes;
      if (item.kind == LazItem::Kind::byte14) begin += i, end = begin + 1;
      if (item.kind == LazItem::Kind::rgb_nir14) begin += 6 * i, end = begin + (i == 0 ? 6 : 2);
      other->layers[i].wanted = any(begin, end);
      needed = needed || other->layers[i].wanted;
    }
    for (LazLayer& layer : other->layers) layers_.push_back(&layer);
    (needed ? items_ : unneeded_).push_back(std::move(other));
  }

  LazPoints14 points_;
  std::vector<std::unique_ptr<LazItem14>> items_, unneeded_;
  std::vector<LazLayer*> layers_;  // in file order
  std::size_t record_bytes_ = 0;
  bool whole_ = false;  // more than X, Y and Z is wanted
  const std::byte *first_ = nullptr, *end_ = nullptr;
  bool at_first_ = true;
  std::uint32_t left_ = 0;  // remaining points of the chunk
  std::vector<std::uint8_t> contexts_;
};

}  // namespace

std::unique_ptr<LazChunkDecoder> layered_laz_chunks(const LazFormat& format, const std::vector<bool>& wanted) {
  return std::make_unique<LayeredChunks>(format, wanted);
}

}  // namespace penstock
