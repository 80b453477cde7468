#include <bit>
#include <cstring>
#include <string>

#include <penstock/error.hpp>
#include <transforms/values/raw.hpp>

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are used as they are stored");

Shape row_shape(const FieldSchema& schema) {
  return schema.shape.empty() ? Shape{} : Shape(schema.shape.begin() + 1, schema.shape.end());
}

class RawDecoder final : public Decoder {
 public:
  Layout peek(const FieldBytes& field) override {
    const FieldSchema& schema = *field.schema;
    const std::uint64_t length = field.bytes.size();
    Layout layout{.dtype = schema.dtype};
    if (schema.fixed && field.ranges.empty()) {
      layout.shape = schema.shape;
    } else {
      const std::uint64_t row_bytes = element_count(row_shape(schema)) * size_of(schema.dtype);
      if (schema.fixed && schema.shape.empty()) throw Error::invalid_argument("raw: a scalar has no rows");
      layout.shape = row_shape(schema);
      layout.shape.insert(layout.shape.begin(), row_bytes == 0 ? 0 : static_cast<std::int64_t>(length / row_bytes));
    }
    if (element_count(layout.shape) * size_of(schema.dtype) != length) {
      throw Error::shape("raw: " + std::to_string(length) + " bytes are not " + to_string(layout.shape) + " of " +
                         std::string(penstock::name(schema.dtype)));
    }
    return layout;
  }

  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    if (region != nullptr || out.bytes() != field.bytes.size()) {
      throw Error::invalid_argument("raw: the output does not hold the value");
    }
    if (!field.bytes.empty()) std::memcpy(out.data, field.bytes.data(), field.bytes.size());
  }
};

class RawCodec final : public Codec {
 public:
  std::string_view name() const override { return "raw"; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    return std::make_unique<RawDecoder>();
  }
  std::optional<Layout> layout(const FieldHeader& field) const override {
    if (!field.schema->fixed) return std::nullopt;
    return Layout{.dtype = field.schema->dtype, .shape = field.schema->shape};
  }
  bool select(const FieldHeader& field, ByteRange rows, std::vector<ByteRange>& ranges) const override {
    if (field.schema->fixed && field.schema->shape.empty()) return false;
    const std::uint64_t row_bytes = element_count(row_shape(*field.schema)) * size_of(field.schema->dtype);
    if (row_bytes == 0 || rows.begin > rows.end || rows.end > field.length / row_bytes) {
      throw Error::shape("raw: rows " + std::to_string(rows.begin) + " to " + std::to_string(rows.end) + " of " +
                         std::to_string(field.length) + " bytes");
    }
    ranges.push_back({rows.begin * row_bytes, rows.end * row_bytes});
    return true;
  }
};

}  // namespace

const Codec& raw_codec() {
  static const RawCodec codec;
  return codec;
}

}  // namespace penstock
