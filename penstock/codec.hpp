// The interface of codecs, which decode bytes to a tensor: a codec first says which bytes it needs, then decodes those.
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

/// Runs the pieces of one value's work side by side where threads are idle. Whoever calls a codec may give it one.
class Parallel {
 public:
  /// Calls body(piece) once for each piece in [0, pieces): in the calling thread, and in others that are idle, in any
  /// order and several at a time. Returns once all have ended. Throws what a body threw first; pieces that had not
  /// begun are left out then. A body does not call run() itself.
  virtual void run(std::uint32_t pieces, const std::function<void(std::uint32_t piece)>& body) = 0;

 protected:
  ~Parallel() = default;
};

/// [begin, end) of a field's bytes.
struct ByteRange {
  std::uint64_t begin, end;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// What is known of a field before its bytes are read.
struct FieldHeader {
  const FieldSchema* schema;
  std::span<const std::byte> header;  ///< recorded in the index; may be empty
  std::uint64_t length;               ///< bytes of the field
};

/// What a field decodes to.
struct Layout {
  DType dtype = DType::u8;
  Shape shape = {};    ///< images: (H, W, C), C = 1, 3 or 4 as delivered
  bool image = false;  ///< takes part in geometry
  bool cloud = false;  ///< the decoder is a CloudDecoder (clouds/cloud.hpp)
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// A field's bytes as read: all of them, or those that `select` named, one range after the other. In the second case
/// the value is what was selected: its first dimension is the number of rows that were read. An image keeps its size;
/// of it only the region that was selected can be decoded.
struct FieldBytes {
  const FieldSchema* schema;
  std::span<const std::byte> bytes;
  std::span<const ByteRange> ranges = {};  ///< empty: `bytes` is the whole field
};

/// A codec's state for one worker: reused from sample to sample, so that steady state allocates nothing.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Reads the value's own header. Throws Error: corrupt, unsupported.
  virtual Layout peek(const FieldBytes& field) = 0;
  /// Of the last peeked image: the next decode() gives it at 1/`denominator` (2, 4 or 8) of its size, at less cost, and
  /// takes regions of that. Returns its size then, both sides rounded up; nothing, the default, where it cannot.
  virtual std::optional<Size> shrink(unsigned denominator);
  /// Decodes the last peeked value. For images, writes rows [region.y, region.y + height) and columns likewise, as
  /// uint8 (H, W, C) of the region; `region` is null for all of it. Throws Error: corrupt, unsupported.
  virtual void decode(const FieldBytes& field, const Region* region, TensorView out) = 0;
  /// Called once, before all else: threads that may help with a value that takes one of them several milliseconds;
  /// null: there are none. They must outlive the decoder. What it writes and throws is the same with and without. The
  /// default takes no help.
  virtual void share(Parallel*) {}
};

enum class Pixels : std::uint8_t {
  rgb,     ///< three channels, as Pillow's convert("RGB"): gray replicated, palette looked up, alpha dropped
  stored,  ///< the stored numbers, for masks: gray levels or palette indices (1, 2 or 4 bits not scaled) as one channel
};

struct DecodeOptions {
  Pixels pixels = Pixels::rgb;               ///< of images; others ignore it
  bool upright = false;                      ///< of images: the orientation in their EXIF block is applied
  std::vector<std::string> attributes = {};  ///< of clouds: those that will be asked for beside the coordinates
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string_view name() const = 0;      ///< as in FieldSchema::codec
  virtual unsigned version() const { return 1; }  ///< raised when the same bytes decode to other values
  /// Whether a value that begins so is of this codec; by default where it begins as the table of encodings says.
  virtual bool recognises(std::span<const std::byte> first_bytes) const;
  virtual std::unique_ptr<Decoder> decoder(const FieldSchema& schema, const DecodeOptions& options = {}) const = 0;
  /// Appends the byte ranges that decoding `rows` ([begin, end) of the first dimension) of the value needs, in rising
  /// order; false when the whole field is needed, which is the default.
  virtual bool select(const FieldHeader& field, ByteRange rows, std::vector<ByteRange>& ranges) const;
  /// The same of an image: what the pixels of `region` need, a region of the image at 1/`denominator` of its size where
  /// that is not 1 (see Decoder::shrink). False also where so much is needed that the whole field is read as soon.
  virtual bool select_region(const FieldHeader& field, const Region& region, unsigned denominator,
                             std::vector<ByteRange>& ranges) const;
  virtual bool selects_regions() const { return false; }  ///< whether select_region() ever names ranges
  /// What the value decodes to, where schema and header alone tell; nothing by default.
  virtual std::optional<Layout> layout(const FieldHeader& field) const;
  /// What the index should keep for select(): recorded by `pack`; empty by default, and where `bytes` do not tell.
  virtual std::vector<std::byte> header(std::span<const std::byte> bytes) const;
  /// How many of a value's first bytes header() needs, so that parts of values can be read that `pack` did not record;
  /// 0, the default: it needs all of them.
  virtual std::uint64_t prefix_bytes() const { return 0; }
};

std::span<const Codec* const> codecs();           ///< the list of all codecs
const Codec* codec_named(std::string_view name);  ///< null when there is none
/// The codec of a value. Where the schema names an image, an array or nothing, the magic bytes decide (a PNG named .jpg
/// is a PNG), and the schema where they say nothing; text and raw elements are what the schema says, whatever their
/// bytes. Throws Error: unsupported, when neither tells.
const Codec& codec_for(const FieldSchema& schema, std::span<const std::byte> bytes);

}  // namespace penstock
