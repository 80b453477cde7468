#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/field_types.hpp>
#include <formats/filters/widen.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/index/rewritten.hpp>
#include <formats/mosaic.hpp>
#include <formats/text/numpy_text.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

bool is_elements(const FieldSchema& schema) {
  return codec_traits(schema.codec).elements;
}

bool is_in_place(const FieldSchema& schema) {
  return codec_traits(schema.codec).in_place;
}

// Class numbers and rows of one shape can become arrays.
bool becomes_array(const FieldSchema& schema) {
  return codec_traits(schema.codec).label || is_row(schema);
}

// Returns the arrays' codec if some files have arrays and others values that can become arrays. Empty for other pairs.
std::string codec_of_numbers(const FieldSchema& a, const FieldSchema& b) {
  if (becomes_array(a) && codec_traits(b.codec).array_file) return b.codec;
  return becomes_array(b) && codec_traits(a.codec).array_file ? a.codec : "";
}

// Returns whether the bytes of a value reveal its type.
bool is_told_by_bytes(const FieldSchema& schema) {
  if (schema.codec.empty()) return !schema.fixed;
  const Encoding* encoding = encoding_of_codec(schema.codec);
  return encoding != nullptr && !encoding->magic.empty();
}

std::string type_text(const FieldSchema& schema) {
  if (!is_elements(schema)) return schema.codec.empty() ? "bytes of any kind" : schema.codec;
  std::string text = codec_traits(schema.codec).tokens ? "tokens of " : "";
  text += name(schema.dtype);
  if (schema.fixed) return text + " " + to_string(schema.shape);
  if (schema.shape.size() > 1) return text + " rows of " + to_string({schema.shape.begin() + 1, schema.shape.end()});
  return text + " lists";
}

// The dtype and the shape matter only for elements, because their bytes do not contain them.
bool is_same_type(const FieldSchema& a, const FieldSchema& b) {
  if (a.codec != b.codec || a.fixed != b.fixed) return false;
  return !is_elements(a) || (a.dtype == b.dtype && a.shape == b.shape);
}

// Returns the shape of one row. A scalar counts as a list of one row.
Shape row_of(const FieldSchema& schema) {
  return schema.shape.empty() ? Shape{} : Shape(schema.shape.begin() + 1, schema.shape.end());
}

// Returns the shape of values with different numbers of rows. If both have the shape {}, the result is {}: plain bytes,
// unless a chain interprets them.
Shape shape_of_rows(const FieldSchema& a, const FieldSchema& b, const Shape& row) {
  if (row.empty()) {
    const bool bytes = (!a.fixed && a.shape.empty()) || (!b.fixed && b.shape.empty());
    return bytes ? Shape{} : Shape{-1};
  }
  Shape shape{0};
  shape.insert(shape.end(), row.begin(), row.end());
  return shape;
}

}  // namespace

void FieldTypes::add(const FieldSchema& schema, const Place& place) {
  name_ = schema.name;
  for (Type& known : types_) {
    if (!is_same_type(known.schema, schema)) continue;
    if (!known.place.has_samples) known.place = place;
    return;
  }
  types_.push_back({.schema = schema, .text = type_text(schema), .place = place});
}

std::string FieldTypes::text_of(const Type& a, const Type& b) {
  const auto place = [](const Type& type, const Type& other) {
    return type.place.shard == other.place.shard || type.place.shard.empty() ? type.place.path : type.place.shard;
  };
  const bool in_order = a.text <= b.text;
  const Type &first = in_order ? a : b, &second = in_order ? b : a;
  return first.text + " in " + place(first, second) + " and " + second.text + " in " + place(second, first);
}

// Returns whether a type for both exists. `all` is then that type.
bool FieldTypes::join(FieldSchema& all, const FieldSchema& other) {
  if (!is_elements(all) || !is_elements(other)) {
    if (all.codec == other.codec && all.fixed == other.fixed) return true;
    const std::string numbers = codec_of_numbers(all, other);
    if (numbers.empty() && !(is_told_by_bytes(all) && is_told_by_bytes(other))) return false;
    all = {.name = all.name, .codec = numbers, .differences = all.differences};
    return true;
  }
  const std::optional<DType> dtype = dtype_of_both(all.dtype, other.dtype);
  if (all.codec != other.codec || !dtype || (codec_traits(all.codec).tokens && all.dtype != other.dtype)) return false;
  if (all.fixed != other.fixed || all.shape != other.shape) {
    const Shape row = row_of(all);
    if (row != row_of(other)) return false;
    all.differences.rows = all.differences.rows || all.fixed || other.fixed;
    all.shape = shape_of_rows(all, other, row);
    all.fixed = false;
  }
  all.differences.widened = all.differences.widened || all.dtype != other.dtype;
  all.dtype = *dtype;
  return true;
}

FieldSchema FieldTypes::together() const {
  std::vector<const Type*> types;
  const bool some = std::ranges::any_of(types_, [](const Type& type) { return type.place.has_samples; });
  for (const Type& type : types_) {
    if (type.place.has_samples || !some) types.push_back(&type);
  }
  std::ranges::sort(types, {}, &Type::text);
  FieldSchema all = types.front()->schema;
  all.name = name_;
  all.differences = {};
  for (std::size_t i = 1; i < types.size(); ++i) join(all, types[i]->schema);
  const auto conflict = conflict_in(types);
  if (!conflict) {
    // The message names two types: two with different dtypes if possible, else the first two.
    const auto other = std::ranges::find_if(
        types, [&](const Type* type) { return type->schema.dtype != types.front()->schema.dtype; });
    if (types.size() > 1 && (all.differences.widened || all.differences.rows || !is_elements(all)))
      all.differences.text = text_of(*types.front(), other == types.end() ? *types[1] : **other);
    return all;
  }
  const auto& [first, second, use] = *conflict;
  if (codec_traits(first->schema.codec).tokens && codec_traits(second->schema.codec).tokens) {
    throw Error::invalid_argument("field \"" + name_ + "\" holds tokens of " + std::string(name(second->schema.dtype)) +
                                  " here and of " + std::string(name(first->schema.dtype)) +
                                  " before: only datasets with the same token dtype can be combined; the field is " +
                                  text_of(*first, *second));
  }
  return {.name = name_, .codec = "", .differences = {.text = text_of(*first, *second), .use = use}};
}

// Returns two incompatible types and the remaining use of the field: the pair with the strictest limit.
std::optional<FieldTypes::Conflict> FieldTypes::conflict_in(std::span<const Type* const> types) {
  std::optional<Conflict> found;
  for (std::size_t i = 0; i < types.size(); ++i) {
    for (std::size_t j = i + 1; j < types.size(); ++j) {
      FieldSchema pair = types[i]->schema;
      if (join(pair, types[j]->schema)) continue;
      const bool in_place = is_in_place(types[i]->schema) || is_in_place(types[j]->schema);
      const auto use = in_place ? FieldDifferences::Use::nothing : FieldDifferences::Use::stored_bytes;
      if (!found || found->use < use) found = Conflict{types[i], types[j], use};
    }
  }
  return found;
}

namespace {

std::vector<std::byte> widened(std::span<const std::byte> bytes, std::uint32_t parameter) {
  std::vector<std::byte> wide(bytes.size() * growth_of_widening(parameter));
  widen(bytes, wide, parameter);
  return wide;
}

// Converts the pieces of values of one dtype to pieces of a larger dtype.
class Widening {
 public:
  Widening(const Index& index, DType from, DType to)
      : index_(&index),
        element_(size_of(from)),
        parameter_(widening_parameter(from, to)),
        growth_(growth_of_widening(parameter_)) {}

  void operator()(IndexBuilder& copy, std::vector<Piece>& pieces, std::optional<std::uint32_t> crc32c) {
    made_.clear();
    made_.reserve(pieces.size());  // pieces refer to its elements
    const std::uint32_t* const of_extent = crc32c && pieces.size() == 1 ? &*crc32c : nullptr;
    for (Piece& piece : pieces) widen_piece(copy, piece, of_extent);
  }

 private:
  void widen_piece(IndexBuilder& copy, Piece& piece, const std::uint32_t* crc32c) {
    require_whole(piece.length);
    switch (piece.kind) {
      case Piece::Kind::extent: {
        Block block{.extent = piece.extent, .filters = {filter()}, .decoded_length = piece.length * growth_};
        if (crc32c != nullptr) block.filters.push_back({Filter::Id::crc32c, *crc32c});
        piece.kind = Piece::Kind::block;
        piece.offset = 0;
        piece.block = copy.add_block(block);
        break;
      }
      case Piece::Kind::block: {
        require_whole(piece.offset);
        const auto [known, added] = blocks_.try_emplace(piece.block, 0);
        if (added) known->second = widen_block(copy, index_->block(piece.block));
        piece.block = known->second;
        piece.offset *= growth_;
        break;
      }
      case Piece::Kind::bytes:
        piece.inline_bytes = made_.emplace_back(widened(piece.inline_bytes, parameter_));
        break;
      case Piece::Kind::fill:
        piece.inline_bytes = made_.emplace_back(pattern(piece.inline_bytes));
        break;
    }
    piece.length *= growth_;
  }

  std::uint32_t widen_block(IndexBuilder& copy, Block block) const {
    if (block.mosaic) return widen_mosaic(copy, std::move(block));
    require_whole(block.decoded_length);
    block.decoded_length *= growth_;
    block.filters.insert(block.filters.begin(), filter());
    return copy.add_block(block);
  }

  // A tile without bytes was never written, and remains so.
  std::uint32_t widen_mosaic(IndexBuilder& copy, Block block) const {
    Mosaic& mosaic = *block.mosaic;
    require_whole(mosaic.element_bytes);
    if (std::max(mosaic.tile_bytes(), block.decoded_length) > kLongestMosaic / growth_)
      throw Error::unsupported("the chunks are too large to convert to a wider dtype");
    std::optional<std::uint32_t> first;
    for (std::uint64_t tile = 0, tiles = mosaic.tiles(); tile < tiles; ++tile) {
      const Block own = index_->block(mosaic.first_block + static_cast<std::uint32_t>(tile));
      const std::uint32_t number = own.decoded_length == 0 ? copy.add_block(own) : widen_block(copy, own);
      if (!first) first = number;
    }
    mosaic.first_block = first.value_or(0);
    mosaic.element_bytes *= static_cast<std::uint32_t>(growth_);
    mosaic.fill = pattern(mosaic.fill);
    block.decoded_length *= growth_;
    return copy.add_block(block);
  }

  // Widens a pattern of bytes that fills a value by repetition.
  std::vector<std::byte> pattern(std::span<const std::byte> bytes) const {
    std::vector<std::byte> whole;
    for (std::size_t i = 0; !bytes.empty() && i < std::lcm(bytes.size(), element_); ++i)
      whole.push_back(bytes[i % bytes.size()]);
    return widened(whole, parameter_);
  }

  void require_whole(std::uint64_t bytes) const {
    if (bytes % element_ != 0)
      throw Error::unsupported(
          "its stored bytes are not whole numbers of its dtype, so they cannot be converted to a wider dtype");
  }

  Filter filter() const { return {Filter::Id::widen, parameter_}; }

  const Index* index_;
  std::size_t element_;
  std::uint32_t parameter_;
  std::uint64_t growth_;
  std::unordered_map<std::uint32_t, std::uint32_t> blocks_;  // maps block numbers of the index to those of the copy
  std::vector<std::vector<std::byte>> made_;
};

// Puts the header of a `.npy` value before the pieces of a row.
FieldRewrite::Value npy_of_row(const FieldSchema& row) {
  return [header = npy_header_text(row.dtype, row.shape)](IndexBuilder& copy, std::vector<Piece>& pieces,
                                                          std::optional<std::uint32_t> crc32c) {
    if (crc32c && pieces.size() == 1 && pieces.front().kind == Piece::Kind::extent) {
      Piece& piece = pieces.front();
      piece.kind = Piece::Kind::block;
      piece.block = copy.add_block({piece.extent, {{Filter::Id::crc32c, *crc32c}}, piece.length});
    }
    pieces.insert(pieces.begin(), inline_piece(std::as_bytes(std::span(header))));
  };
}

std::vector<std::byte> npy_of_class(std::span<const std::byte> digits) {
  const std::string_view text(reinterpret_cast<const char*>(digits.data()), digits.size());
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) throw Error::unsupported("the label is not a number");
  const std::string header = npy_header_text(DType::i64, {1});
  std::vector<std::byte> npy(header.size() + sizeof(number));
  std::memcpy(npy.data(), header.data(), header.size());
  std::memcpy(npy.data() + header.size(), &number, sizeof(number));
  return npy;
}

}  // namespace

bool is_row(const FieldSchema& schema) {
  return schema.fixed && is_in_place(schema);
}

std::string array_text(DType dtype, const Shape& shape) {
  return std::string(name(dtype)) + " " + to_string(shape);
}

bool needs_change(const FieldSchema& own, const FieldSchema& together) {
  if (together.differences.use != FieldDifferences::Use::any) return false;
  if (codec_traits(together.codec).array_file) return becomes_array(own);
  return is_in_place(own) && own.dtype != together.dtype;
}

Index with_types(const Index& index, std::span<const TypeChange> changes) {
  std::vector<FieldRewrite> rewrites;
  for (const TypeChange& change : changes) {
    const FieldSchema& own = index.fields()[change.field];
    if (index.made() != nullptr)
      throw Error::unsupported("its samples are built from other samples, so the dtype of a field cannot change",
                               {.field = own.name});
    FieldSchema schema = own;
    schema.codec = change.codec;
    schema.dtype = change.dtype;
    rewrites.push_back({.field = change.field, .schema = std::move(schema), .value = nullptr});
    if (is_in_place(own) && codec_traits(change.codec).array_file) {
      rewrites.back().schema = {.name = own.name, .codec = change.codec};
      rewrites.back().value = npy_of_row(own);
    } else if (is_in_place(own)) {
      rewrites.back().value = Widening(index, own.dtype, change.dtype);
    } else {
      rewrites.back().value = inline_values(npy_of_class);
    }
  }
  return rewritten(index, rewrites);
}

void require_one_type(const FieldSchema& schema) {
  if (schema.differences.use != FieldDifferences::Use::nothing) return;
  throw Error::unsupported("the files disagree on this field: " + schema.differences.text +
                               "; store it with one type and shape, or open the files separately",
                           {.field = schema.name});
}

void require_one_codec(const FieldSchema& schema) {
  require_one_type(schema);
  if (schema.differences.use == FieldDifferences::Use::any) return;
  throw Error::unsupported("the files disagree on this field: " + schema.differences.text +
                               "; read the stored bytes with raw(), or open the files separately",
                           {.field = schema.name});
}

std::string disagreement(const FieldSchema& schema) {
  return schema.differences.text.empty() ? "" : "; the files disagree on this field: " + schema.differences.text;
}

}  // namespace penstock
