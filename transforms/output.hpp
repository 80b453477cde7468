// Describes an output of a batch, the facts that compiling it may ask of the dataset, and the sample of a row.
#pragma once

#include <algorithm>
#include <array>
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

namespace penstock {

/// The encoded bytes of some sample's field: all of them, or only `ranges`, for codecs that decode parts. Bytes that
/// are given stand for a value unless there are none: that of an empty value says `exists` itself.
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

/// Ragged rows that a batch makes equally long: as long as its longest, rounded up to a multiple.
struct RowPadding {
  std::int64_t multiple = 1;
  std::size_t element_bytes = 1;
  std::array<std::byte, 8> value{};  ///< one element, in its first bytes
  void fill(std::span<std::byte> place) const {
    for (std::size_t at = 0; at < place.size(); at += element_bytes)
      std::copy_n(value.begin(), element_bytes, place.begin() + static_cast<std::ptrdiff_t>(at));
  }
};

/// What the loader knows of the dataset, for compiling. `first_value(field, codec)` gives some sample's field, or what
/// its codec's peek() needs of it, so that shapes without a declared size (icons) are found from the data.
/// `codec` is what will decode it, null for the field's own. `first_such` gives the first of some values that is
/// wanted, none where none is; null: only the first value is known.
struct FieldCatalog {
  std::span<const FieldSchema> fields;
  std::function<FirstBytes(std::uint32_t field, const Codec* codec)> first_value;
  std::function<FirstBytes(std::uint32_t field, const std::function<bool(const FirstBytes&)>& wanted)> first_such =
      nullptr;
  /// What keeps the dataset from having a field that was asked for, for people; empty or null: nothing is known.
  std::function<std::string(const std::string& field)> why_absent = nullptr;
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
  classes,              ///< of label(num_classes)
  follower,             ///< moves with an image
};

/// One output of the batch.
struct Output {
  std::string name;
  std::vector<std::uint32_t> sources;  ///< fields of the dataset, in order of preference
  DType dtype = DType::u8;
  Shape shape;          ///< of one row; ragged: of one item of a row
  bool ragged = false;  ///< a row holds a varying number of items of `shape`
  /// Of ragged rows that a batch makes equally long, and of rows of one length what fills them up.
  std::optional<RowPadding> padding = std::nullopt;
  /// More than 0: a ragged row is one array of so many dimensions, of sizes of its own, and its items are elements.
  std::uint32_t own_dimensions = 0;
  bool may_be_missing = false;  ///< a sample without the field has an empty row, where the loader is asked for that
  bool verbatim = false;        ///< the row is the stored bytes: the reader may put them into the slot itself
  bool partial = false;         ///< select() may ask for parts of the field; a follower for those its leader asks for
  bool scattered = false;       ///< and those are many and small: records here and there
  Keep keep = Keep::bytes;
  Pixels pixels = Pixels::rgb;  ///< of Keep::pixels
  bool upright = false;         ///< of images: decoded with their EXIF orientation applied
  RowKind kind = RowKind::other;
  bool has_geometry = false;  ///< of images as uint8 (H, W, 3): SlotFiller::geometry() may serve
  /// More than 0: of that window of the program, counted from 1. A row is `steps` samples, one behind the other, which
  /// are filled one by one; that many is the first size of `shape`.
  std::uint32_t window = 0;
  std::uint32_t steps = 1;
  bool drawn = false;   ///< of a window: something is drawn for it or what it goes with, so that rows differ in a step
  bool inside = false;  ///< of a window: tells which steps lie in the group; nothing is read for it
  std::uint64_t row_bytes() const { return element_count(shape) * size_of(dtype); }  ///< ragged: of one item
  std::uint64_t step_bytes() const { return row_bytes() / steps; }                   ///< of one sample of a row
};

/// The only sources of randomness, and the sample's name for messages.
struct SampleContext {
  std::uint64_t seed = 0, epoch = 0, sample = 0;
  std::string_view key = {};
  std::uint32_t occurrence = 0;  ///< how often the epoch's list of samples has this one before
  /// Of a step of a window: the sample whose row it is, for which everything is drawn.
  std::optional<std::uint64_t> row_of = std::nullopt;
  std::uint64_t draws() const { return draw_number(row_of.value_or(sample), occurrence); }
};

/// Time spent in codecs and in transforms.
struct FillTimes {
  std::chrono::nanoseconds decode{}, transform{};
};

}  // namespace penstock
