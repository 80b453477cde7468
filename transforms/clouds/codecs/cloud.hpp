// The interface of cloud codecs: a header, coordinates, and attributes of the points that are asked for.
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

/// What a point carries beside its place, as stored. Names are those of laspy where LAS has the attribute: "intensity",
/// "return_number", "number_of_returns", "classification", "red", "green", "blue", "gps_time"; of PLY and PCD the
/// file's own; of LAS extra bytes the name in their record.
struct PointAttribute {
  std::string name;
  DType dtype = DType::f32;
  friend bool operator==(const PointAttribute&, const PointAttribute&) = default;
};

/// What a cloud's header tells, once checked against the length of the field.
struct CloudHeader {
  std::uint64_t points = 0;
  /// Coordinates are delivered as float32 relative to this place (float64, the file's own unit and axes): the lower
  /// corner of the bounds where a header states plausible ones, else a place near the points; (0, 0, 0) for formats
  /// whose coordinates are small or are float32 already.
  std::array<double, 3> origin{};
  std::vector<PointAttribute> attributes = {};
  PointOrder order = PointOrder::stored;
  /// Points that are encoded together, so that decoding one costs as much as all: of a LAZ chunk. 1: each by itself.
  std::uint32_t chunk_points = 1;
};

/// Position in `cloud.attributes`. Throws Error: shape, naming those there are.
std::size_t attribute_number(const CloudHeader& cloud, std::string_view name);

/// Points of a cloud by their number in stored order, rising; or all of them.
struct PointChoice {
  bool all = true;
  std::span<const std::uint32_t> numbers = {};
  std::uint64_t count(std::uint64_t points) const { return all ? points : numbers.size(); }
};

/// A worker's decoder of clouds. First open(), which reads the header and checks that the points are there; then
/// coordinates() and attribute() of that value, in any order and number.
///
/// Where `field.ranges` is not empty, only what CloudCodec::select_points() named for some points was read: `choice`
/// is then always the same points, and decode() is not called.
class CloudDecoder : public Decoder {
 public:
  /// Valid until the next call. Throws Error: corrupt, unsupported.
  virtual const CloudHeader& open(const FieldBytes& field) = 0;
  /// Writes (count, 3) float32 x y z relative to the origin, in the order of `choice`. Throws Error: corrupt.
  virtual void coordinates(const FieldBytes& field, const PointChoice& choice, float* out) = 0;
  /// Writes `count` elements of attribute number `number` of the header, in its dtype. Throws Error: corrupt.
  virtual void attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) = 0;

  Layout peek(const FieldBytes& field) final;             ///< opens it: float32 (points, 3)
  const CloudHeader& header() const { return *header_; }  ///< of the last peeked value
  void decode(const FieldBytes& field, const Region* region, TensorView out) final;

 private:
  const CloudHeader* header_ = nullptr;
};

/// A codec whose decoders are CloudDecoders.
class CloudCodec : public Codec {
 public:
  virtual std::unique_ptr<CloudDecoder> cloud_decoder(const DecodeOptions& options) const = 0;
  std::unique_ptr<Decoder> decoder(const FieldSchema& schema, const DecodeOptions& options) const final;

  /// As open(), from what header() recorded; nothing where that does not tell, or for codecs that need all bytes.
  /// Throws Error: corrupt, where header and field.length contradict each other.
  virtual std::optional<CloudHeader> cloud(const FieldHeader& field) const;
  /// Appends the byte ranges that decoding these points needs, in rising order, the value's own header first; false
  /// where the whole field is needed. Neighbouring records may be joined. `numbers` rise and are below cloud().points.
  virtual bool select_points(const FieldHeader& field, std::span<const std::uint32_t> numbers,
                             std::vector<ByteRange>& ranges) const;
  std::optional<Layout> layout(const FieldHeader& field) const final;
};

const CloudCodec* cloud_codec_named(std::string_view name);  ///< null when no codec of clouds has that name
/// Of a value that was peeked. Throws Error: shape, where it is no point cloud.
CloudDecoder& cloud_decoder(const Peeked& peeked);

}  // namespace penstock
