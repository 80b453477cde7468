// The interface of cloud codecs: the header, and coordinates and attributes of requested points.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/points.hpp>

namespace penstock {

struct Peeked;  // transforms/decoders.hpp

/// A stored value of each point besides its coordinates. LAS attributes have laspy's names: "intensity",
/// "return_number", "number_of_returns", "classification", "red", "green", "blue", "gps_time". PLY and PCD attributes
/// have the file's names. LAS extra bytes have the name in their record.
struct PointAttribute {
  std::string name;
  DType dtype = DType::f32;
  friend bool operator==(const PointAttribute&, const PointAttribute&) = default;
};

/// A cloud's header, validated against the length of the field.
struct CloudHeader {
  std::uint64_t points = 0;
  /// Coordinates are delivered as float32 relative to this point (float64, in the file's unit and axes). If the header
  /// states plausible bounds that contain the first point, the origin is their lower corner; otherwise it is a point
  /// near the cloud. Formats with small or float32 coordinates have the origin (0, 0, 0).
  std::array<double, 3> origin{};
  std::vector<PointAttribute> attributes = {};
  PointOrder order = PointOrder::stored;
  /// Number of points encoded together, for example in a LAZ chunk: decoding one costs as much as all. 1: points are
  /// encoded separately.
  std::uint32_t chunk_points = 1;
};

/// Returns the attribute's position in `cloud.attributes`. Throws Error: shape, listing the attributes.
std::size_t attribute_number(const CloudHeader& cloud, std::string_view name);

/// Points of a cloud, by their numbers in stored order, ascending; or all points.
struct PointChoice {
  bool all = true;
  std::span<const std::uint32_t> numbers = {};
  std::uint64_t count(std::uint64_t points) const { return all ? points : numbers.size(); }
};

/// Decodes clouds. Not thread-safe: each worker has one. First call open(), which reads the header and checks that all
/// points are present. Then call coordinates() and attribute() for that value, in any order, any number of times.
///
/// If `field.ranges` is not empty, only the ranges from CloudCodec::select_points() were read. Then `choice` must
/// always name the points selected there, and decode() is not called.
class CloudDecoder : public Decoder {
 public:
  /// The header is valid until the next call. Throws Error: corrupt, unsupported.
  virtual const CloudHeader& open(const FieldBytes& field) = 0;
  /// Writes (count, 3) float32 x y z relative to the origin, in the order of `choice`. Throws Error: corrupt.
  virtual void coordinates(const FieldBytes& field, const PointChoice& choice, float* out) = 0;
  /// Writes `count` elements of attribute number `number` of the header, in its dtype. Throws Error: corrupt.
  virtual void attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) = 0;

  Layout peek(const FieldBytes& field) final;             ///< calls open(); the layout is float32 (points, 3)
  const CloudHeader& header() const { return *header_; }  ///< of the last peeked value
  void decode(const FieldBytes& field, const Region* region, TensorView out) final;

 private:
  const CloudHeader* header_ = nullptr;
};

/// A codec that creates CloudDecoders.
class CloudCodec : public Codec {
 public:
  virtual std::unique_ptr<CloudDecoder> cloud_decoder(const DecodeOptions& options) const = 0;
  std::unique_ptr<Decoder> decoder(const FieldSchema& schema, const DecodeOptions& options) const final;

  /// Returns the header of a cloud from the bytes that header() recorded. Returns nothing if these do not suffice, or
  /// if the codec needs all bytes. The origin is only what the header states: a decoder also checks the first point. Throws Error: corrupt, if the header and field.length contradict each other.
  virtual std::optional<CloudHeader> cloud(const FieldHeader& field) const;
  /// Appends the byte ranges needed to decode these points, ascending, with the value's header first. Returns false if
  /// the whole field is needed. Ranges may include neighbouring records. `numbers` are ascending and below
  /// cloud().points.
  virtual bool select_points(const FieldHeader& field, std::span<const std::uint32_t> numbers,
                             std::vector<ByteRange>& ranges) const;
  std::optional<Layout> layout(const FieldHeader& field) const final;
};

const CloudCodec* cloud_codec_named(std::string_view name);  ///< null if no cloud codec has that name
/// Returns the cloud decoder of a peeked value. Throws Error: shape, if the value is not a point cloud.
CloudDecoder& cloud_decoder(const Peeked& peeked);

}  // namespace penstock
