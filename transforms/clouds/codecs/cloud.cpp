#include <penstock/error.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/decoders.hpp>

namespace penstock {
namespace {

Layout layout_of(std::uint64_t points) {
  return {.dtype = DType::f32, .shape = {static_cast<std::int64_t>(points), 3}, .cloud = true};
}

}  // namespace

std::string_view name(PointOrder order) {
  constexpr std::string_view kNames[]{"stored", "random", "stratified", "farthest"};
  return kNames[static_cast<std::size_t>(order)];
}

std::size_t attribute_number(const CloudHeader& cloud, std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < cloud.attributes.size(); ++i) {
    if (cloud.attributes[i].name == name) return i;
    known += (i == 0 ? "" : ", ") + cloud.attributes[i].name;
  }
  throw Error::shape("its points have no attribute \"" + std::string(name) +
                     "\"; they have: " + (known.empty() ? "only coordinates" : known));
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

const CloudCodec* cloud_codec_named(std::string_view name) {
  return dynamic_cast<const CloudCodec*>(codec_named(name));
}

CloudDecoder& cloud_decoder(const Peeked& peeked) {
  if (!peeked.layout.cloud) throw Error::shape("is not a point cloud, but " + std::string(peeked.codec->name()));
  return static_cast<CloudDecoder&>(*peeked.decoder);
}

}  // namespace penstock
