// The interface of codecs, which decode a field's bytes to a tensor. decode(codec) begins a chain with a custom one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/geometry.hpp>
#include <penstock/schema.hpp>
#include <penstock/tensor.hpp>

namespace penstock {

/// Runs the pieces of one value's work in parallel if threads are idle. Decoder::share() receives one.
class Parallel {
 public:
  /// Calls body(piece) once for each piece in [0, pieces), in the calling thread and in idle ones, in any order and
  /// several at a time. Returns after all calls have ended. Throws the first exception of a body; pieces that have not
  /// begun by then are skipped. A body must not call run() itself.
  virtual void run(std::uint32_t pieces, const std::function<void(std::uint32_t piece)>& body) = 0;

 protected:
  ~Parallel() = default;
};

/// The bytes [begin, end) of a field.
struct ByteRange {
  std::uint64_t begin, end;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// The facts about a field that are known before its bytes are read.
struct FieldHeader {
  const FieldSchema* schema;          ///< never null
  std::span<const std::byte> header;  ///< recorded in the index; may be empty
  std::uint64_t length;               ///< bytes of the field
};

/// The type and shape that a field decodes to.
struct Layout {
  DType dtype = DType::u8;
  Shape shape = {};    ///< images: (H, W, C), C = 1, 3 or 4 as delivered
  bool image = false;  ///< the geometry of a chain applies to it
  bool cloud = false;  ///< the decoder is a CloudDecoder (clouds/cloud.hpp)
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The bytes of a field as read: all of them, or the ranges of Codec::select() or select_region(), one after the other.
/// With ranges, the decoded value is the selection: its first dimension is the number of rows read. An image keeps its
/// size, but only the selected region can be decoded.
struct FieldBytes {
  const FieldSchema* schema;
  std::span<const std::byte> bytes;
  std::span<const ByteRange> ranges = {};  ///< empty: `bytes` is the whole field
};

/// The state of a codec for one worker. A worker has one decoder for each output, calls it from one thread at a time,
/// and reuses it for all samples. The worker calls peek() for each value before shrink() and decode(). Keep buffers as
/// members, so that decoding allocates nothing after the first samples.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Returns the layout of a value, from the header inside its bytes. Throws Error: corrupt, unsupported.
  virtual Layout peek(const FieldBytes& field) = 0;
  /// Asks for the last peeked image at 1/`denominator` (2, 4 or 8) of its size, which costs less. The next decode()
  /// then returns that image and accepts regions of it. Returns the reduced size, with both sides rounded up, or
  /// nothing (the default) if the codec cannot do this.
  virtual std::optional<Size> shrink(unsigned denominator);
  /// Decodes the last peeked value and writes all of `out`. For images, writes the pixels of `region` as uint8 (H, W,
  /// C); if `region` is null, the whole image. Throws Error: corrupt, unsupported.
  virtual void decode(const FieldBytes& field, const Region* region, TensorView out) = 0;
  /// Offers idle threads for values that take one thread several milliseconds. Called once, before all other functions.
  /// The argument may be null, and outlives the decoder. Results and exceptions must be the same with and without help.
  /// The default ignores the offer.
  virtual void share(Parallel*) {}
};

/// The pixel values that an image codec delivers.
enum class Pixels : std::uint8_t {
  rgb,  ///< three channels, as Pillow's convert("RGB"): gray replicated, palette looked up, alpha dropped
  /// the stored numbers, for masks: gray levels or palette indices (1, 2 or 4 bits, not scaled) as one channel
  stored,
};

/// The options of a decoder.
struct DecodeOptions {
  Pixels pixels = Pixels::rgb;               ///< for images; other codecs ignore it
  bool upright = false;                      ///< for images: apply the orientation of the EXIF block
  std::vector<std::string> attributes = {};  ///< for clouds: attributes that will be requested besides the coordinates
};

/// Decodes one encoding. All workers share a codec and call its functions concurrently, so it must be immutable. Each
/// worker has its own Decoder. A codec must implement name() and decoder(). With the defaults of the other functions,
/// the loader reads and decodes whole values.
class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string_view name() const = 0;      ///< as in FieldSchema::codec
  virtual unsigned version() const { return 1; }  ///< increase it if the same bytes decode to other values
  /// Whether a value with these first bytes belongs to this codec. The default looks them up in the table of encodings.
  /// A chain with decode(codec) does not call it.
  virtual bool recognises(std::span<const std::byte> first_bytes) const;
  /// Makes a decoder for one worker and one output.
  virtual std::unique_ptr<Decoder> decoder(const FieldSchema& schema, const DecodeOptions& options = {}) const = 0;
  /// Appends the byte ranges that are needed to decode `rows` ([begin, end) of the first dimension), in rising order.
  /// Returns false if the whole field is needed, which is the default.
  virtual bool select(const FieldHeader& field, ByteRange rows, std::vector<ByteRange>& ranges) const;
  /// Appends the byte ranges that are needed to decode the pixels of `region` of an image. If `denominator` is not 1,
  /// the region is one of the image at 1/`denominator` of its size (see Decoder::shrink). Also returns false if the
  /// ranges are so large that reading the whole field takes no longer.
  virtual bool select_region(const FieldHeader& field, const Region& region, unsigned denominator,
                             std::vector<ByteRange>& ranges) const;
  virtual bool selects_regions() const { return false; }  ///< whether select_region() ever returns ranges
  /// The layout of the value, if schema and header determine it; nothing by default.
  virtual std::optional<Layout> layout(const FieldHeader& field) const;
  /// The bytes that the index should store for select(); `pack` records them. Empty by default, and if `bytes` do not
  /// contain them.
  virtual std::vector<std::byte> header(std::span<const std::byte> bytes) const;
  /// Number of first bytes of a value that header() needs. With it, the loader can read parts of values whose header
  /// `pack` did not record. The default, 0, means that header() needs all bytes.
  virtual std::uint64_t prefix_bytes() const { return 0; }
};

/// Returns all codecs of penstock, without custom ones.
std::span<const Codec* const> codecs();
/// Returns the codec with that name; null if there is none.
const Codec* codec_named(std::string_view name);
/// Returns the codec of a value. If the schema names an image, an array or nothing, the magic bytes decide (a PNG named
/// .jpg is a PNG); if they are unknown, the schema decides. For text and raw elements the schema always decides. Throws
/// Error: unsupported, if neither determines a codec.
const Codec& codec_for(const FieldSchema& schema, std::span<const std::byte> bytes);

}  // namespace penstock
