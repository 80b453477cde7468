
#include <penstock/error.hpp>
#include <transforms/image/codecs/exif.hpp>
#include <transforms/image/codecs/image_decoder.hpp>
#include <transforms/image/codecs/oriented_decoder.hpp>
#include <transforms/image/jpt/extents.hpp>
#include <transforms/image/jpt/jpt.hpp>
#include <transforms/image/jpt/picture.hpp>
#include <transforms/image/jpt/skeleton.hpp>

namespace penstock {
namespace {

// Parts less than kGap apart are read as one. In fields below kLeastBytes, a crop would skip hardly any bytes, so the
// index stores nothing of them. Skipping a quarter of the bytes is worth several reads instead of one; see
// bench/RESULTS.md.
constexpr std::size_t kLeastBytes = 64 << 10;
constexpr std::uint64_t kGap = 32 << 10;

bool can_shrink(const jpt::Frame& frame) {
  return frame.most_horizontal() <= 2 && frame.most_vertical() <= 2;
}

/// The EXIF block is part of the data that restore the JPEG file, after the tiles.
unsigned orientation_of(const FieldBytes& field) {
  jpt::Head head;
  jpt::parse_head(field.bytes, head);
  jpt::Skeleton skeleton;
  jpt::load_skeleton(field.bytes.subspan(head.coded_bytes), skeleton);
  return exif_orientation(skeleton.piece(0));
}

class JptDecoder final : public Decoder {
 public:
  explicit JptDecoder(Pixels pixels) : pixels_(pixels) {}

  Layout peek(const FieldBytes& field) override {
    ready_.reset();
    if (field.ranges.empty()) {
      jpt::parse_head(field.bytes, head_);
    } else {
      const ByteRange& first = field.ranges[0];
      if (first.begin != 0 || first.end > field.bytes.size()) throw Error::corrupt("jpt: its head was not read");
      jpt::parse_first_bytes(field.bytes.first(first.end), head_);
    }
    const bool gray = head_.frame.colour == jpt::Colour::gray && pixels_ == Pixels::stored;
    ready_ = field.bytes;
    layout_.image = true;
    layout_.shape.assign({head_.frame.height, head_.frame.width, gray ? 1 : 3});
    return layout_;
  }

  void share(Parallel* parallel) override { picture_.share(parallel); }

  // Supports the same factors, and files, as jpeg_codec().
  std::optional<Size> shrink(unsigned denominator) override {
    if (!ready_ || !can_shrink(head_.frame)) return std::nullopt;
    head_.frame.shrink(denominator);
    layout_.shape[0] = static_cast<std::int64_t>(head_.frame.pixels_down());
    layout_.shape[1] = static_cast<std::int64_t>(head_.frame.pixels_across());
    return Size{layout_.shape[1], layout_.shape[0]};
  }

  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    const bool peeked = ready_ && ready_->data() == field.bytes.data() && ready_->size() == field.bytes.size();
    if (!peeked) peek(field);
    const Region want = checked_region(layout_, region, out);
    picture_.decode(field, head_, want, static_cast<std::size_t>(layout_.shape[2]),
                    reinterpret_cast<std::uint8_t*>(out.data));
    ready_.reset();  // the caller may reuse the memory for other bytes
  }

 private:
  Pixels pixels_;
  jpt::Head head_;
  jpt::Picture picture_;
  Layout layout_;
  std::optional<std::span<const std::byte>> ready_;  ///< the field whose head was read
};

class JptCodec final : public Codec {
 public:
  std::string_view name() const override { return "jpt"; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions& options) const override {
    auto decoder = std::make_unique<JptDecoder>(options.pixels);
    if (!options.upright) return decoder;
    return std::make_unique<OrientedDecoder>(std::move(decoder), orientation_of);
  }

  bool selects_regions() const override { return true; }
  std::vector<std::byte> header(std::span<const std::byte> bytes) const override {
    if (!recognises(bytes) || bytes.size() < kLeastBytes) return {};
    return jpt::kept_extents(bytes);
  }
  std::optional<Layout> layout(const FieldHeader& field) const override {
    if (field.header.empty()) return std::nullopt;
    jpt::Extents extents(field.header);
    const jpt::Frame& frame = extents.frame();
    return Layout{.shape = {frame.height, frame.width, 3}, .image = true};
  }
  bool select_region(const FieldHeader& field, const Region& region, unsigned denominator,
                     std::vector<ByteRange>& ranges) const override {
    if (field.header.empty()) return false;
    jpt::Extents extents(field.header);
    if (denominator != 1 && !can_shrink(extents.frame())) return false;
    extents.frame().shrink(denominator);
    const std::size_t before = ranges.size();
    extents.select(region, kGap, ranges);
    std::uint64_t bytes = 0;
    for (std::size_t i = before; i < ranges.size(); ++i) bytes += ranges[i].end - ranges[i].begin;
    if (4 * bytes <= 3 * field.length) return true;
    ranges.resize(before);
    return false;
  }
};

}  // namespace

const Codec& jpt_codec() {
  static const JptCodec codec;
  return codec;
}

}  // namespace penstock
