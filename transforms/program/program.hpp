// All chains of a loader, compiled once against a dataset's fields, and the per-worker state that runs them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/formats/schema.hpp>
#include <penstock/transforms/account.hpp>
#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/codec.hpp>
#include <penstock/transforms/geometry.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {

class Placement;  // penstock/transforms/image/steps/placement.hpp

/// The encoded bytes of some sample's field: all of them, or only `ranges`, for codecs that decode parts.
struct FirstBytes {
  FirstBytes(std::vector<std::byte> all = {}) : bytes(std::move(all)) {}  // NOLINT: bytes are bytes
  FirstBytes(std::vector<std::byte> some, ByteRange range) : bytes(std::move(some)), ranges{range} {}
  FieldBytes of(const FieldSchema& schema) const { return {.schema = &schema, .bytes = bytes, .ranges = ranges}; }

  std::vector<std::byte> bytes;
  std::vector<ByteRange> ranges = {};
};

/// What the loader knows of the dataset, for compiling. `first_value(field, codec)` gives some sample's field, or what
/// its codec's peek() needs of it, so that shapes without a declared size (icons) are found from the data; empty when
/// no sample has it. `codec` is what will decode it, null for the field's own.
struct FieldCatalog {
  std::span<const FieldSchema> fields;
  std::function<FirstBytes(std::uint32_t field, const Codec* codec)> first_value;
};

/// What a cache may keep for an output between epochs, so that the same row comes of it.
enum class Keep : std::uint8_t {
  bytes,   ///< the field's stored bytes
  pixels,  ///< the field's image as its codec decodes it, as a raw uint8 value (H, W, C)
  row,     ///< the row itself: nothing is drawn for it, and it is no larger than the pixels
};

/// What the rows of an output are, for steps on whole batches.
enum class RowKind : std::uint8_t {
  other,
  image,                ///< (C, H, W)
  image_channels_last,  ///< (H, W, C)
  classes,              ///< of label(classes)
  follower,             ///< moves with an image
};

/// One output of the batch.
struct Output {
  std::string name;
  std::vector<std::uint32_t> sources;  ///< fields of the dataset, in order of preference
  DType dtype = DType::u8;
  Shape shape;             ///< of one row; ragged: of one item of a row
  bool ragged = false;     ///< a row holds a varying number of items of `shape`
  bool verbatim = false;   ///< the row is the stored bytes: the reader may put them into the slot itself
  bool partial = false;    ///< select() may ask for parts of the field; a follower for those its leader asks for
  bool scattered = false;  ///< and those are many and small: records here and there
  Keep keep = Keep::bytes;
  Pixels pixels = Pixels::rgb;  ///< of Keep::pixels
  bool upright = false;         ///< of images: decoded with their EXIF orientation applied
  RowKind kind = RowKind::other;
  bool placeable = false;  ///< of images as uint8 (H, W, 3): SlotFiller::place() may serve
  std::uint64_t row_bytes() const { return element_count(shape) * size_of(dtype); }  ///< ragged: of one item
};

/// The only sources of randomness, and the sample's name for messages.
struct SampleContext {
  std::uint64_t seed = 0, epoch = 0, sample = 0;
  std::string_view key = {};
  std::uint32_t occurrence = 0;  ///< how often the epoch's list of samples has this one before
  std::uint64_t draws() const { return draw_number(sample, occurrence); }
};

/// Immutable; shared by all workers.
class Program {
 public:
  /// Without `chains`, every field is decoded by its codec and must have one shape.
  /// Throws Error: invalid_argument, naming output and step: unknown field, steps that do not fit the codec or each
  /// other, a follow() without its leader or in a circle; shape, when an output's shape is not the same for all samples
  /// and nothing in the chain makes it so.
  Program(std::span<const FieldChain> chains, const FieldCatalog& catalog);
  ~Program();
  Program(Program&&) noexcept;

  std::span<const Output> outputs() const;
  /// Output numbers in the order they must be filled: a followed output comes before its followers.
  std::span<const std::uint32_t> order() const;
  /// The output at the end of an output's follow(); nothing where it follows none.
  std::optional<std::uint32_t> leader(std::uint32_t output) const;
  /// Byte ranges of the field that output needs for this sample; false when it needs the whole field.
  bool select(std::uint32_t output, const FieldHeader& field, const SampleContext& sample,
              std::vector<ByteRange>& ranges) const;
  /// What the output's chain does to a sample, whose whole field this is: for people, not for speed.
  /// Throws Error: corrupt, unsupported, shape, where fill() would.
  OutputAccount explain(std::uint32_t output, const FieldBytes& field, const SampleContext& sample) const;
  /// Names and versions of codecs and transforms in use: part of a loader's state.
  std::string version() const;

 private:
  friend class SlotFiller;
  struct State;
  std::unique_ptr<State> state_;
};

/// Decodes and transforms into slots; one per worker thread.
class SlotFiller {
 public:
  explicit SlotFiller(const Program& program);  ///< the program must outlive the filler
  ~SlotFiller();
  SlotFiller(SlotFiller&&) noexcept;

  /// Starts a sample; its outputs are then filled in Program::order().
  void begin(const SampleContext& sample);
  /// Items in the sample's row of a ragged output. Throws Error: corrupt, unsupported.
  std::uint64_t items(std::uint32_t output, const FieldBytes& field);
  /// Writes the sample's row: row_bytes() bytes, or items() * row_bytes() for a ragged output. The whole slot is
  /// written or an Error thrown: corrupt, unsupported, shape (a row of another shape than the output's).
  void fill(std::uint32_t output, const FieldBytes& field, std::span<std::byte> slot);

  /// In the place of fill(), for whoever decodes a JPEG elsewhere: what becomes of its pixels, which are RGB; outputs
  /// that follow go on as after fill(). Nothing, and nothing is done, where fill() must: for values that are no JPEG or
  /// not whole, that an orientation turns, and whose steps are more than crops, resizes and flips. Throws as fill().
  std::optional<Geometry> place(std::uint32_t output, const FieldBytes& field);

  /// Time spent so far in codecs and in transforms, for the stage table.
  struct Times {
    std::chrono::nanoseconds decode{}, transform{};
  };
  Times times() const;

  /// Of an image output: where the pixels of the sample it was last filled with come from; null for other outputs.
  const Placement* placement(std::uint32_t output) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
