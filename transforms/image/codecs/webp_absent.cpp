// Replaces webp.cpp if libwebp is not found.
#include <penstock/error.hpp>
#include <transforms/image/codecs/webp.hpp>

namespace penstock {
namespace {

class WebpCodec final : public Codec {
 public:
  std::string_view name() const override { return "webp"; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    throw Error::unsupported("webp: this build has no libwebp (install libwebp-dev and build again)");
  }
};

}  // namespace

const Codec& webp_codec() {
  static const WebpCodec codec;
  return codec;
}

}  // namespace penstock
