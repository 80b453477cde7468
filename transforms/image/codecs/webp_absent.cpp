// Replaces webp.cpp where libwebp is not found.
#include <penstock/base/error.hpp>
#include <penstock/formats/encodings.hpp>
#include <penstock/transforms/image/codecs/webp.hpp>

namespace penstock {
namespace {

class WebpCodec final : public Codec {
 public:
  std::string_view name() const override { return "webp"; }
  bool recognises(std::span<const std::byte> first_bytes) const override {
    return begins_as(*encoding_of_codec(name()), first_bytes);
  }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    throw Error::unsupported("webp: this build of penstock has no libwebp");
  }
};

}  // namespace

const Codec& webp_codec() {
  static const WebpCodec codec;
  return codec;
}

}  // namespace penstock
