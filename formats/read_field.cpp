#include <new>
#include <stdexcept>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/field_types.hpp>
#include <formats/filters/filters.hpp>
#include <formats/mosaic.hpp>
#include <formats/places/places.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Reads the bytes of an extent. Compares its end with the file size before allocating memory.
std::vector<std::byte> read_extent(const Dataset& dataset, const Extent& extent) {
  const std::filesystem::path path = dataset.file(extent.file).path;
  const ErrorContext context{.shard = path.string(), .offset = extent.offset};
  try {
    const auto source = open_byte_source(path, dataset.stored_object(extent.file), Access::in_order);
    const FileIdentity identity = source->identity();
    dataset.require_unchanged(extent.file, identity);
    const std::uint64_t size = identity.size;
    if (extent.offset > size || extent.length > size - extent.offset) {
      throw Error::corrupt("file ends inside the field");
    }
    std::vector<std::byte> bytes(extent.length);
    if (source->read(extent.offset, bytes) != bytes.size()) {
      throw Error::corrupt("file ends inside the field");
    }
    return bytes;
  } catch (const Error& error) {
    throw error.in(context);
  }
}

std::vector<std::byte> read_block(const Dataset& dataset, std::uint32_t number) {
  const Block block = dataset.block(number);
  if (block.mosaic) {
    std::vector<std::byte> whole;
    assemble(*block.mosaic, whole, [&](std::uint32_t of, std::vector<std::byte>& tile) {
      if (dataset.block(of).mosaic) throw Error::corrupt("broken index: a block of several chunks inside another");
      tile = read_block(dataset, of);
    });
    return whole;
  }
  std::vector<std::byte> stored = read_extent(dataset, block.extent);
  if (block.filters.empty() && block.decoded_length == stored.size()) return stored;
  std::vector<std::byte> decoded, scratch;
  undo_filters(block, stored, decoded, scratch);
  return decoded;
}

void append_piece(const Dataset& dataset, const Piece& piece, std::vector<std::byte>& out) {
  switch (piece.kind) {
    case Piece::Kind::extent: {
      const std::vector<std::byte> bytes = read_extent(dataset, piece.extent);
      out.insert(out.end(), bytes.begin(), bytes.end());
      break;
    }
    case Piece::Kind::block: {
      const std::vector<std::byte> bytes = read_block(dataset, piece.block);
      if (piece.offset > bytes.size() || piece.length > bytes.size() - piece.offset) {
        throw Error::corrupt("the field ends outside its block");
      }
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(piece.offset);
      out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(piece.length));
      break;
    }
    case Piece::Kind::bytes:
      out.insert(out.end(), piece.inline_bytes.begin(), piece.inline_bytes.end());
      break;
    case Piece::Kind::fill: {
      const std::size_t start = out.size();
      out.resize(start + piece.length);
      for (std::size_t i = 0; i < piece.length; ++i) out[start + i] = piece.inline_bytes[i % piece.inline_bytes.size()];
      break;
    }
  }
}

}  // namespace

std::vector<std::byte> read_field(const Dataset& dataset, std::uint64_t sample, std::uint32_t field) {
  const std::string key(dataset.key(sample));
  const std::size_t shard = dataset.shard_of(sample, field);
  const ErrorContext context{.dataset = dataset.path_of_shard(shard).string(),
                             .shard = dataset.shard(shard).name,
                             .key = key,
                             .field = field < dataset.fields().size() ? dataset.fields()[field].name : ""};
  try {
    if (field < dataset.fields().size()) require_one_type(dataset.fields()[field]);
    std::vector<Piece> pieces;
    if (!dataset.locate(sample, field, pieces)) throw Error::invalid_argument("the sample lacks this field");
    std::vector<std::byte> bytes;
    for (const Piece& piece : pieces) append_piece(dataset, piece, bytes);
    return bytes;
  } catch (const Error& error) {
    throw error.in(context);
  } catch (const std::bad_alloc&) {
    throw Error::resource("not enough memory for " + std::to_string(dataset.length(sample, field)) + " bytes", context);
  } catch (const std::length_error&) {
    throw Error::corrupt("the field is too long: " + std::to_string(dataset.length(sample, field)) + " bytes", context);
  }
}

}  // namespace penstock
