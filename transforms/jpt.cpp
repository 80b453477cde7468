#include <algorithm>

#include <penstock/transforms/image_decoder.hpp>
#include <penstock/transforms/jpt.hpp>
#include <penstock/transforms/jpt/picture.hpp>

namespace penstock {
namespace {

class JptDecoder final : public Decoder {
 public:
  explicit JptDecoder(Pixels pixels) : pixels_(pixels) {}

  Layout peek(const FieldBytes& field) override {
    ready_.reset();
    jpt::parse_head(field.bytes, head_);
    const bool gray = head_.frame.colour == jpt::Colour::gray && pixels_ == Pixels::stored;
    ready_ = field.bytes;
    layout_.image = true;
    layout_.shape.assign({head_.frame.height, head_.frame.width, gray ? 1 : 3});
    return layout_;
  }

  // The same factors, and files, as of jpeg_codec().
  std::optional<Size> shrink(unsigned denominator) override {
    if (!ready_ || head_.frame.most_horizontal() > 2 || head_.frame.most_vertical() > 2) return std::nullopt;
    head_.frame.shrink(denominator);
    layout_.shape[0] = static_cast<std::int64_t>(head_.frame.pixels_down());
    layout_.shape[1] = static_cast<std::int64_t>(head_.frame.pixels_across());
    return Size{layout_.shape[1], layout_.shape[0]};
  }

  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    const bool peeked = ready_ && ready_->data() == field.bytes.data() && ready_->size() == field.bytes.size();
    if (!peeked) peek(field);
    const Region want = checked_region(layout_, region, out);
    picture_.decode(field.bytes, head_, want, static_cast<std::size_t>(layout_.shape[2]),
                    reinterpret_cast<std::uint8_t*>(out.data));
    ready_.reset();  // other bytes may come to lie there
  }

 private:
  Pixels pixels_;
  jpt::Head head_;
  jpt::Picture picture_;
  Layout layout_;
  std::optional<std::span<const std::byte>> ready_;  ///< the field whose head has been read
};

class JptCodec final : public Codec {
 public:
  std::string_view name() const override { return "jpt"; }
  bool recognises(std::span<const std::byte> first_bytes) const override {
    return first_bytes.size() >= jpt::kMagic.size() &&
           std::ranges::equal(first_bytes.first(jpt::kMagic.size()), jpt::kMagic);
  }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions& options) const override {
    return std::make_unique<JptDecoder>(options.pixels);
  }
};

}  // namespace

const Codec& jpt_codec() {
  static const JptCodec codec;
  return codec;
}

}  // namespace penstock
