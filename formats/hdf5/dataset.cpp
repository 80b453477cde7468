#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <formats/filters/bitshuffle.hpp>
#include <formats/filters/filters.hpp>
#include <formats/filters/scale_offset.hpp>
#include <formats/hdf5/dataset.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostDims = 32;
constexpr std::size_t kLongestFill = 4096;

struct NamedFilter {
  unsigned id;
  std::string_view name;
};
// Source: HDF Group, "Registered Filter Plugins".
constexpr std::array kNames{
    NamedFilter{4, "szip"},      NamedFilter{5, "nbit"},           NamedFilter{6, "scale-offset"},
    NamedFilter{305, "lzo"},     NamedFilter{307, "bzip2"},        NamedFilter{32001, "blosc"},
    NamedFilter{32004, "lz4"},   NamedFilter{32008, "bitshuffle"}, NamedFilter{32013, "zfp"},
    NamedFilter{32015, "zstd"},  NamedFilter{32017, "sz"},         NamedFilter{32024, "sz3"},
    NamedFilter{32026, "blosc2"}};

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / b) {
    throw Error::corrupt("dataset of more than 2^63 bytes");
  }
  return a * b;
}

Error of_version(const char* what, unsigned version) {
  return Error::unsupported(std::string(what) + " of version " + std::to_string(version) + ", of a newer HDF5");
}

// Returns one element, or a single byte to repeat if all of its bytes are equal. Source: sections IV.A.2.e and f.
std::vector<std::byte> read_fill(const Hdf5File& file, const Hdf5Object& object, std::uint64_t size) {
  std::vector<std::byte> fill(size);
  const auto use = [&](Hdf5Cursor& cursor) {
    const std::uint32_t length = cursor.u32();
    if (length != size) return;
    const auto value = cursor.take(length);
    std::copy(value.begin(), value.end(), fill.begin());
  };
  if (const auto body = object.body(file, Hdf5MessageType::fill_value)) {
    Hdf5Cursor cursor = file.cursor(*body);
    const unsigned version = cursor.u8();
    if (version == 3) {
      if ((cursor.u8() & 0x20U) != 0) use(cursor);
    } else if (version == 1 || version == 2) {
      cursor.skip(2);
      if (cursor.u8() != 0) use(cursor);
    } else {
      throw of_version("fill value", version);
    }
  } else if (const auto old = object.body(file, Hdf5MessageType::old_fill_value)) {
    Hdf5Cursor cursor = file.cursor(*old);
    use(cursor);
  }
  const bool uniform = std::ranges::all_of(fill, [&](std::byte byte) { return byte == fill.front(); });
  if (uniform) fill.resize(1);
  if (fill.size() > kLongestFill) throw Error::unsupported("a fill value of " + std::to_string(fill.size()) + " bytes");
  return fill;
}

std::string filter_text(unsigned id, std::string name) {
  for (const NamedFilter& known : kNames) {
    if (known.id == id && name.empty()) name = known.name;
  }
  return "filter " + std::to_string(id) + (name.empty() ? "" : " (" + name + ")");
}

// `values` are the parameters in the file. Source: bitshuffle 0.5 (K. Masui), bshuf_h5filter.c.
std::vector<Filter> bitshuffle_of(std::span<const std::uint32_t> values) {
  constexpr std::size_t kElement = 2, kBlock = 3, kCompression = 4;
  constexpr std::uint32_t kLz4 = 2, kZstd = 3;
  const auto value = [&](std::size_t i) { return i < values.size() ? values[i] : 0; };
  const std::uint32_t element = value(kElement);
  if (element == 0) throw Error::corrupt("a bitshuffle filter without the bytes of an element");
  if (value(kCompression) == kLz4) return {{Filter::Id::bitshuffle_lz4, element}};
  if (value(kCompression) == kZstd) return {{Filter::Id::bitshuffle_zstd, element}};
  const auto block = value(kBlock) != 0 ? value(kBlock) : static_cast<std::uint32_t>(bitshuffle_default_block(element));
  return {{Filter::Id::bitshuffle, element}, {Filter::Id::operand, block}};
}

// Source: H5Zscaleoffset.c of HDF5 1.10, which the specification does not repeat.
std::vector<Filter> scale_offset_of(const Hdf5Dataset& dataset, std::span<const std::uint32_t> values) {
  constexpr std::size_t kMethod = 0, kFactor = 1, kClass = 3, kSize = 4, kOrder = 6, kHasFill = 7, kFillLow = 8,
                        kFillHigh = 9, kLeast = 10;
  constexpr std::uint32_t kExponents = 1, kFloats = 1;
  if (values.size() < kLeast || values[kSize] != dataset.type.size)
    throw Error::corrupt("a scale-offset filter without its parameters, or for other elements");
  if (values[kMethod] == kExponents) throw Error::unsupported("scale-offset of exponents, which no HDF5 writes");
  ScaleOffset parameters{.element = values[kSize],
                         .floats = values[kClass] == kFloats,
                         .big_endian = values[kOrder] != 0,
                         .decimals = static_cast<std::int32_t>(values[kFactor]),
                         .fill = {}};
  if (!parameters.floats && values[kFactor] == values[kSize] * 8) return {};  // such elements are stored unchanged
  if (values[kHasFill] != 0) parameters.fill = values[kFillLow] | std::uint64_t{values[kFillHigh]} << 32;
  const auto filters = scale_offset_filters(parameters);
  scale_offset_parameters(filters);  // checks them
  return {filters.begin(), filters.end()};
}

// Returns the steps of one filter in the file, the first with its operands. Returns nothing if it is not readable.
std::optional<std::vector<Filter>> steps_of(const Hdf5Dataset& dataset, unsigned id,
                                            std::span<const std::uint32_t> values) {
  const auto known = static_cast<Filter::Id>(id);
  switch (known) {
    case Filter::Id::shuffle:
      return {{{known, values.empty() ? static_cast<std::uint32_t>(dataset.type.size) : values.front()}}};
    case Filter::Id::bitshuffle:
      return bitshuffle_of(values);
    case Filter::Id::scale_offset:
      return scale_offset_of(dataset, values);
    case Filter::Id::deflate:
    case Filter::Id::fletcher32:
    case Filter::Id::lzf:
    case Filter::Id::blosc:
    case Filter::Id::bzip2:
    case Filter::Id::lz4:
    case Filter::Id::zstd:
      return {{{known, 0}}};
    default:
      return std::nullopt;
  }
}

void add_filter(Hdf5Dataset& dataset, unsigned id, const std::string& name, std::span<const std::uint32_t> values) {
  auto steps = steps_of(dataset, id, values);
  if (!steps) dataset.cause = filter_text(id, name);
  if (steps && !std::ranges::all_of(*steps, [](Filter step) { return can_undo(step.id); }))
    dataset.cause = filter_text(id, name) + ", whose library this build lacks";
  dataset.filters.push_back(std::move(steps).value_or(std::vector<Filter>()));
}

// Source: section IV.A.2.l.
void read_filters(const Hdf5File& file, std::span<const std::byte> message, Hdf5Dataset& dataset) {
  constexpr unsigned kFirstRegistered = 256;
  Hdf5Cursor cursor = file.cursor(message);
  const unsigned version = cursor.u8();
  if (version != 1 && version != 2) throw of_version("filter pipeline", version);
  const unsigned count = cursor.u8();
  if (version == 1) cursor.skip(6);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned id = cursor.u16();
    const bool named = version == 1 || id >= kFirstRegistered;
    const std::uint64_t name_length = named ? cursor.u16() : 0;
    cursor.skip(2);
    const std::size_t value_count = cursor.u16();
    std::string name = cursor.text(version == 1 ? (name_length + 7) / 8 * 8 : name_length);
    name.resize(std::min(name.size(), name.find('\0')));
    std::vector<std::uint32_t> values;
    for (std::size_t v = 0; v < value_count; ++v) values.push_back(cursor.u32());
    if (version == 1 && value_count % 2 != 0) cursor.skip(4);
    add_filter(dataset, id, name.substr(0, name.find(';')), values);
  }
}

std::vector<Filter> joined(const std::vector<std::vector<Filter>>& filters) {
  std::vector<Filter> all;
  for (const std::vector<Filter>& steps : filters) all.insert(all.end(), steps.begin(), steps.end());
  return all;
}

void set_chunks(Hdf5Dataset& dataset, std::vector<std::uint64_t> dims) {
  if (dims.size() != dataset.dims.size() + 1) throw Error::corrupt("chunks with another rank than their dataset");
  if (dims.back() != dataset.type.size) throw Error::corrupt("chunks with another element size than their dataset");
  dataset.chunk_bytes = 1;
  for (const std::uint64_t dim : dims) {
    if (dim == 0) throw Error::corrupt("chunks of size 0");
    dataset.chunk_bytes = product(dataset.chunk_bytes, dim);
  }
  dims.pop_back();
  dataset.chunk_dims = std::move(dims);
  dataset.storage = Hdf5Dataset::Storage::chunked;
}

void read_compact(Hdf5Cursor& cursor, std::uint64_t length, Hdf5Dataset& dataset) {
  const auto bytes = cursor.take(length);
  dataset.storage = Hdf5Dataset::Storage::compact;
  dataset.bytes.assign(bytes.begin(), bytes.end());
}

constexpr unsigned kCompact = 0, kContiguous = 1, kChunked = 2, kVirtual = 3;
constexpr unsigned kFirstWithIndex = 4, kNewestLayout = 5;  // versions of the layout message

void read_early_layout(Hdf5Cursor& cursor, Hdf5Dataset& dataset) {
  const std::size_t rank = cursor.u8();
  const unsigned kind = cursor.u8();
  cursor.skip(5);
  if (kind > kChunked) throw Error::corrupt("an invalid layout");
  if (kind != kCompact) dataset.address = cursor.address();
  std::vector<std::uint64_t> dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(cursor.u32());
  if (kind == kChunked) set_chunks(dataset, std::move(dims));
  if (kind == kCompact) read_compact(cursor, cursor.u32(), dataset);
}

// Reads the chunk index of a layout message of version 4 or 5. Version 5, of HDF5 2.0, has the same fields. Its chunks
// may be longer than 4 GiB, so chunk indexes store the lengths of filtered chunks in 8 bytes (H5O__layout_decode in
// H5Olayout.c). Readers of chunk indexes derive this width from the length of an entry. Source: section IV.A.2.i.
void read_chunk_index(Hdf5Cursor& cursor, Hdf5Dataset& dataset) {
  const unsigned flags = cursor.u8();
  dataset.plain_edges = (flags & 1U) != 0;
  const std::size_t rank = cursor.u8();
  const std::size_t width = cursor.u8();
  std::vector<std::uint64_t> dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(cursor.number(width));
  set_chunks(dataset, std::move(dims));
  switch (const unsigned kind = cursor.u8()) {
    case 1:
      dataset.index = Hdf5Dataset::ChunkIndex::single;
      dataset.single_length = dataset.chunk_bytes;
      if ((flags & 2U) != 0) {
        dataset.single_length = cursor.length();
        dataset.single_mask = cursor.u32();
      }
      break;
    case 2:
      dataset.index = Hdf5Dataset::ChunkIndex::implicit;
      break;
    case 3:
      dataset.index = Hdf5Dataset::ChunkIndex::fixed_array;
      cursor.skip(1);
      break;
    case 4:
      dataset.index = Hdf5Dataset::ChunkIndex::extensible_array;
      cursor.skip(5);
      break;
    case 5:
      dataset.index = Hdf5Dataset::ChunkIndex::tree2;
      cursor.skip(6);
      break;
    default:
      throw Error::unsupported("chunk index of kind " + std::to_string(kind) + ", of a newer HDF5");
  }
  dataset.address = cursor.address();
}

void read_layout(const Hdf5File& file, std::span<const std::byte> message, Hdf5Dataset& dataset) {
  Hdf5Cursor cursor = file.cursor(message);
  const unsigned version = cursor.u8();
  if (version == 0 || version > kNewestLayout) throw of_version("layout", version);
  if (version < 3) return read_early_layout(cursor, dataset);
  switch (cursor.u8()) {
    case kCompact:
      return read_compact(cursor, cursor.u16(), dataset);
    case kContiguous:
      dataset.address = cursor.address();
      return;
    case kChunked: {
      if (version >= kFirstWithIndex) return read_chunk_index(cursor, dataset);
      const std::size_t rank = cursor.u8();
      dataset.address = cursor.address();
      std::vector<std::uint64_t> dims;
      for (std::size_t i = 0; i < rank; ++i) dims.push_back(cursor.u32());
      return set_chunks(dataset, std::move(dims));
    }
    case kVirtual:
      dataset.cause = "virtual: its bytes are stored in other datasets";
      return;
    default:
      throw Error::corrupt("an invalid layout");
  }
}

}  // namespace

std::uint64_t Hdf5Dataset::elements() const {
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count = product(count, dim);
  return count;
}

std::vector<std::uint64_t> read_dims(const Hdf5File& file, std::span<const std::byte> message,
                                     std::vector<std::uint64_t>* most) {
  Hdf5Cursor cursor = file.cursor(message);
  const unsigned version = cursor.u8();
  if (version != 1 && version != 2) throw of_version("shape", version);
  const std::size_t rank = cursor.u8();
  const unsigned flags = cursor.u8();
  if (rank > kMostDims) throw Error::corrupt("a shape of " + std::to_string(rank) + " dimensions");
  constexpr unsigned kNull = 2;
  if (version == 1) cursor.skip(5);
  if (version == 2 && cursor.u8() == kNull) throw Error::unsupported("a null shape: it holds no values");
  std::vector<std::uint64_t> dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(cursor.length());
  if (most == nullptr) return dims;
  *most = dims;
  const std::uint64_t unlimited = ~std::uint64_t{0} >> (64 - 8 * file.sizes().length);
  for (std::size_t i = 0; i < rank && (flags & 1U) != 0; ++i) {
    (*most)[i] = cursor.length();
    if ((*most)[i] == unlimited) (*most)[i] = Hdf5Dataset::kUnlimited;
  }
  return dims;
}

Hdf5Dataset describe(const Hdf5File& file, const Hdf5Object& object) {
  const auto need = [&](Hdf5MessageType type, const char* what) {
    auto body = object.body(file, type);
    if (!body) throw Error::corrupt(std::string("a dataset without ") + what);
    return *std::move(body);
  };
  Hdf5Dataset dataset;
  dataset.type = read_type(file, need(Hdf5MessageType::datatype, "type"));
  dataset.dims = read_dims(file, need(Hdf5MessageType::dataspace, "shape"), &dataset.most_dims);
  product(dataset.elements(), dataset.type.size);
  if (const auto filters = object.body(file, Hdf5MessageType::filters)) read_filters(file, *filters, dataset);
  if (dataset.cause.empty() && !can_undo(joined(dataset.filters)))
    dataset.cause = "two compressions; only scale-offset with deflate or lzf is read";
  read_layout(file, need(Hdf5MessageType::layout, "layout"), dataset);
  if (object.find(Hdf5MessageType::external_files) != nullptr) dataset.cause = "its bytes are stored in external files";
  // In a corrupt file elements may be very long. Unreadable types need no fill value.
  if (dataset.type.kind != Hdf5Type::Kind::other && dataset.type.size <= file.size() + 65536) {
    dataset.fill = read_fill(file, object, dataset.type.size);
  } else if (dataset.type.kind != Hdf5Type::Kind::other) {
    throw Error::corrupt("elements longer than the file");
  }
  return dataset;
}

}  // namespace penstock
