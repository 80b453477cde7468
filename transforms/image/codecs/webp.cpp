#include <cstring>
#include <vector>

#include <webp/decode.h>

#include <penstock/error.hpp>
#include <transforms/image/codecs/exif.hpp>
#include <transforms/image/codecs/image_decoder.hpp>
#include <transforms/image/codecs/oriented_decoder.hpp>
#include <transforms/image/codecs/webp.hpp>

namespace penstock {
namespace {

Error fault(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return Error::resource("webp: out of memory");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return Error::unsupported("webp: a feature that libwebp does not support");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return Error::corrupt("webp: ends before its last line");
    default:
      return Error::corrupt("webp: damaged data");
  }
}

class WebpDecoder final : public Decoder {
 public:
  Layout peek(const FieldBytes& field) override {
    WebPBitstreamFeatures features;
    const VP8StatusCode status = WebPGetFeatures(data(field), field.bytes.size(), &features);
    if (status != VP8_STATUS_OK) throw fault(status);
    if (features.has_animation != 0) throw Error::unsupported("webp: an animation");
    // Images with alpha have four channels inside libwebp, so the limit must allow for them.
    check_image_size(static_cast<std::uint64_t>(features.width), static_cast<std::uint64_t>(features.height), 4);
    layout_.image = true;
    layout_.shape.assign({features.height, features.width, 3});
    return layout_;
  }

  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    peek(field);
    const Region want = checked_region(layout_, region, out);
    const std::int64_t height = layout_.shape[0], width = layout_.shape[1];
    auto* to = reinterpret_cast<std::uint8_t*>(out.data);
    if (want.width == width && want.height == height) return decode_whole(field, to);
    whole_.resize(static_cast<std::size_t>(height * width * 3));
    decode_whole(field, whole_.data());
    const auto row_bytes = static_cast<std::size_t>(want.width * 3);
    for (std::int64_t y = 0; y < want.height; ++y, to += row_bytes)
      std::memcpy(to, whole_.data() + ((want.y + y) * width + want.x) * 3, row_bytes);
  }

 private:
  static const std::uint8_t* data(const FieldBytes& field) {
    return reinterpret_cast<const std::uint8_t*>(field.bytes.data());
  }

  void decode_whole(const FieldBytes& field, std::uint8_t* to) const {
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0)
      throw Error::unsupported("webp: libwebp differs from the version that penstock was built with");
    const auto stride = static_cast<int>(layout_.shape[1] * 3);
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {to, stride, static_cast<std::size_t>(stride) * static_cast<std::size_t>(layout_.shape[0])};
    const VP8StatusCode status = WebPDecode(data(field), field.bytes.size(), &config);
    WebPFreeDecBuffer(&config.output);
    if (status != VP8_STATUS_OK) throw fault(status);
  }

  Layout layout_;
  std::vector<std::uint8_t> whole_;
};

class WebpCodec final : public Codec {
 public:
  std::string_view name() const override { return "webp"; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions& options) const override {
    auto decoder = std::make_unique<WebpDecoder>();
    if (!options.upright) return decoder;
    return std::make_unique<OrientedDecoder>(std::move(decoder),
                                             [](const FieldBytes& field) { return webp_orientation(field.bytes); });
  }
};

}  // namespace

const Codec& webp_codec() {
  static const WebpCodec codec;
  return codec;
}

}  // namespace penstock
