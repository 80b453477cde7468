#include <memory>
#include <string>

#include <penstock/error.hpp>
#include <transforms/elements.hpp>
#include <transforms/values/tokens.hpp>

namespace penstock {
namespace {

class TokensDecoder final : public Decoder {
 public:
  Layout peek(const FieldBytes& field) override {
    const FieldSchema& schema = *field.schema;
    const std::uint64_t length = field.bytes.size(), element = size_of(schema.dtype);
    Layout layout{.dtype = DType::i64, .shape = schema.shape};
    if (!schema.fixed) layout.shape.assign(1, static_cast<std::int64_t>(length / element));
    if (element_count(layout.shape) * element != length) {
      throw Error::shape("tokens: " + std::to_string(length) + " bytes are not " + to_string(layout.shape) + " of " +
                         std::string(penstock::name(schema.dtype)));
    }
    return layout;
  }

  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    const std::uint64_t count = field.bytes.size() / size_of(field.schema->dtype);
    if (region != nullptr || out.bytes() != count * sizeof(std::int64_t))
      throw Error::invalid_argument("tokens: the output does not hold the value");
    convert_elements(field.bytes.data(), field.schema->dtype, out.data, DType::i64, count);
  }
};

class TokensCodec final : public Codec {
 public:
  std::string_view name() const override { return "tokens"; }
  std::unique_ptr<Decoder> decoder(const FieldSchema& schema, const DecodeOptions&) const override {
    if (!is_integer(schema.dtype) || schema.dtype == DType::boolean)
      throw Error::unsupported("tokens: " + std::string(penstock::name(schema.dtype)) + " is not an integer type");
    return std::make_unique<TokensDecoder>();
  }
  std::optional<Layout> layout(const FieldHeader& field) const override {
    if (!field.schema->fixed) return std::nullopt;
    return Layout{.dtype = DType::i64, .shape = field.schema->shape};
  }
};

}  // namespace

const Codec& tokens_codec() {
  static const TokensCodec codec;
  return codec;
}

}  // namespace penstock
