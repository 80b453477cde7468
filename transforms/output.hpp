// Describes an output of a batch, the dataset's properties that compiling needs, and the sample of a row.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/random.hpp>
#include <penstock/schema.hpp>
#include <transforms/elements.hpp>

namespace penstock {

/// The encoded bytes of some sample's field: all of them, or only `ranges`, for codecs that decode parts. Non-empty
/// bytes are always a value. For an empty value, the caller must set `exists`.
struct FirstBytes {
  FirstBytes(std::vector<std::byte> all = {})
      : bytes(std::move(all)), exists(!bytes.empty()) {}  // NOLINT: bytes are bytes
  FirstBytes(std::vector<std::byte> some, ByteRange range) : bytes(std::move(some)), ranges{range}, exists(true) {}
  FieldBytes of(const FieldSchema& schema) const { return {.schema = &schema, .bytes = bytes, .ranges = ranges}; }

  std::vector<std::byte> bytes;
  std::vector<ByteRange> ranges = {};
  bool exists = false;     ///< false: no sample has the field
  std::string place = {};  ///< "sample KEY in SHARD", for messages; empty if unknown
};

/// Padding of ragged rows in a batch: to the length of the longest one, rounded up to a multiple.
struct RowPadding {
  std::int64_t multiple = 1;
  Element element = {};
};

/// The dataset's properties, for compiling. `first_value(field, codec)` returns some sample's field, or the part that
/// the codec's peek() needs. Shapes without a declared size are then found from the data. `codec` will decode the
/// field; null means the field's own codec. `first_such` returns the first of some values that is wanted, or none. If
/// `first_such` is null, only the first value is available.
struct FieldCatalog {
  std::span<const FieldSchema> fields;
  std::function<FirstBytes(std::uint32_t field, const Codec* codec)> first_value;
  std::function<FirstBytes(std::uint32_t field, const std::function<bool(const FirstBytes&)>& wanted)> first_such =
      nullptr;
  /// Returns a hint for people why the dataset lacks a requested field; empty or null if unknown.
  std::function<std::string(const std::string& field)> why_absent = nullptr;
};

/// The data that a cache may keep for an output between epochs, without changing the output.
enum class Keep : std::uint8_t {
  bytes,   ///< the field's stored bytes
  pixels,  ///< the field's decoded image, as a raw uint8 value (H, W, C)
  row,     ///< the row itself, if it has no draws and is not larger than the pixels
};

/// The kind of an output's rows, for steps on whole batches.
enum class RowKind : std::uint8_t {
  other,
  image,                ///< (C, H, W)
  image_channels_last,  ///< (H, W, C)
  classes,              ///< of label(num_classes)
  follower,             ///< moves with an image
};

/// One output of the batch.
struct Output {
  std::string name;
  std::vector<std::uint32_t> sources;  ///< fields of the dataset, in order of preference
  DType dtype = DType::u8;
  Shape shape;          ///< of one row; for ragged outputs, of one item of a row
  bool ragged = false;  ///< a row holds a varying number of items of `shape`
  /// Padding of ragged rows in a batch, or of rows with a fixed length.
  std::optional<RowPadding> padding = std::nullopt;
  /// If not 0, a ragged row is an array with this number of dimensions and a separate shape. Its items are elements.
  std::uint32_t own_dimensions = 0;
  bool may_be_missing = false;  ///< a sample without the field may have an empty row, if the loader allows it
  bool describes = false;       ///< the row describes that of its leader: its number of items, or its origin
  /// For samples that lack the field. Program::treat_missing() sets this and the next three; `empty` occurs only with
  /// may_be_missing.
  Missing missing = Missing::raise;
  std::optional<Element> fill = std::nullopt;  ///< fills the rows of samples without the field
  std::string unfilled = {};  ///< why the number of LoaderOptions::missing cannot fill such rows; else empty
  /// Outputs that this one follows, and whose row has nothing to follow if the sample lacks their field. The sample
  /// then counts as lacking this output's field too.
  std::vector<std::uint32_t> needed_leaders = {};
  bool verbatim = false;   ///< the row is the stored bytes, so the reader may write them into the slot itself
  bool partial = false;    ///< select() may return parts of the field; for a follower, those of its leader
  bool scattered = false;  ///< these parts are many small records
  Keep keep = Keep::bytes;
  Pixels pixels = Pixels::rgb;  ///< for Keep::pixels
  bool upright = false;         ///< for images: decoded with their EXIF orientation applied
  RowKind kind = RowKind::other;
  bool has_geometry = false;  ///< for images as uint8 (H, W, 3): SlotFiller::geometry() may work
  /// If not 0, number of the output's window in the program, counted from 1. A row then is `steps` consecutive samples,
  /// which are filled one by one. `steps` is the first size of `shape`.
  std::uint32_t window = 0;
  std::uint32_t steps = 1;
  bool drawn = false;   ///< for windows: its chain or one that it goes with has draws, so rows differ in a step
  bool inside = false;  ///< for windows: delivers which steps are inside the group; reads nothing
  /// Whether samples without the field have a row.
  bool goes_without_field() const { return fill || missing == Missing::empty; }
  /// Whether the batch marks the rows whose sample has the field.
  bool marks_present() const { return goes_without_field() && !describes; }
  std::uint64_t row_bytes() const { return element_count(shape) * size_of(dtype); }  ///< ragged: of one item
  std::uint64_t step_bytes() const { return row_bytes() / steps; }                   ///< of one sample of a row
};

/// The only sources of randomness, and the sample's name for messages.
struct SampleContext {
  std::uint64_t seed = 0, epoch = 0, sample = 0;
  std::string_view key = {};
  std::uint32_t occurrence = 0;  ///< number of earlier entries of this sample in the epoch
  /// For a step of a window, the sample to which the row belongs. All draws depend on that sample.
  std::optional<std::uint64_t> row_of = std::nullopt;
  std::uint64_t draws() const { return draw_number(row_of.value_or(sample), occurrence); }
};

/// Time spent in codecs and in transforms.
struct FillTimes {
  std::chrono::nanoseconds decode{}, transform{};
};

}  // namespace penstock
