#include <penstock/formats/error.hpp>
#include <penstock/transforms/clouds/cloud.hpp>

namespace penstock {
namespace {

Layout layout_of(std::uint64_t points) {
  return {.dtype = DType::f32, .shape = {static_cast<std::int64_t>(points), 3}, .cloud = true};
}

}  // namespace

std::string_view name(PointOrder order) {
  switch (order) {
    case PointOrder::random:
      return "random";
    case PointOrder::stratified:
      return "stratified";
    case PointOrder::farthest:
      return "farthest";
    case PointOrder::stored:
      break;
  }
  return "stored";
}

Layout CloudDecoder::peek(const FieldBytes& field) {
  header_ = &open(field);
  return layout_of(header_->points);
}

void CloudDecoder::decode(const FieldBytes& field, const Region* region, TensorView out) {
  if (region != nullptr || out.dtype != DType::f32 || out.bytes() != header_->points * 3 * sizeof(float)) {
    throw Error::invalid_argument("the output does not hold the cloud's coordinates");
  }
  coordinates(field, {}, reinterpret_cast<float*>(out.data));
}

std::unique_ptr<Decoder> CloudCodec::decoder(const FieldSchema&, const DecodeOptions& options) const {
  return cloud_decoder(options);
}

std::optional<CloudHeader> CloudCodec::cloud(const FieldHeader&) const {
  return std::nullopt;
}

bool CloudCodec::select_points(const FieldHeader&, std::span<const std::uint32_t>, std::vector<ByteRange>&) const {
  return false;
}

std::optional<Layout> CloudCodec::layout(const FieldHeader& field) const {
  const std::optional<CloudHeader> header = cloud(field);
  return header ? std::optional(layout_of(header->points)) : std::nullopt;
}

}  // namespace penstock
