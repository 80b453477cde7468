#include <algorithm>
#include <cstring>
#include <string>

#include <formats/mosaic.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kMostDims = 32;  // the limit of HDF5

[[noreturn]] void broken_mosaic() {
  throw Error::corrupt("broken index: a block of several chunks");
}

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) broken_mosaic();
  return product;
}

// Copies the part of a tile that is inside the array, run by run along the last dimension.
void place_tile(const Mosaic& mosaic, std::uint64_t number, std::span<const std::byte> tile, std::byte* whole) {
  const std::size_t rank = mosaic.dims.size();
  std::vector<std::uint64_t> begin(rank), count(rank), at(rank, 0);
  for (std::size_t d = rank; d-- > 0;) {
    const std::uint64_t across = (mosaic.dims[d] + mosaic.tile_dims[d] - 1) / mosaic.tile_dims[d];
    begin[d] = number % across * mosaic.tile_dims[d];
    count[d] = std::min(mosaic.tile_dims[d], mosaic.dims[d] - begin[d]);
    number /= across;
  }
  const std::uint64_t run = count[rank - 1] * mosaic.element_bytes;
  for (bool more = true; more;) {
    std::uint64_t from = 0, to = 0;  // in elements
    for (std::size_t d = 0; d < rank; ++d) {
      from = from * mosaic.tile_dims[d] + at[d];
      to = to * mosaic.dims[d] + begin[d] + at[d];
    }
    std::memcpy(whole + to * mosaic.element_bytes, tile.data() + from * mosaic.element_bytes, run);
    more = false;
    for (std::size_t d = rank - 1; d-- > 0 && !more;) {
      more = ++at[d] < count[d];
      if (!more) at[d] = 0;
    }
  }
}

}  // namespace

std::uint64_t Mosaic::tiles() const {
  std::uint64_t tiles = 1;
  for (std::size_t d = 0; d < dims.size(); ++d)
    tiles = times(tiles, dims[d] / tile_dims[d] + (dims[d] % tile_dims[d] != 0 ? 1 : 0));
  return tiles;
}

std::uint64_t Mosaic::tile_bytes() const {
  std::uint64_t bytes = element_bytes;
  for (const std::uint64_t dim : tile_dims) bytes = times(bytes, dim);
  return bytes;
}

std::vector<std::byte> to_bytes(const Mosaic& mosaic) {
  std::vector<std::uint64_t> numbers{mosaic.first_block, mosaic.element_bytes, mosaic.dims.size()};
  numbers.insert(numbers.end(), mosaic.dims.begin(), mosaic.dims.end());
  numbers.insert(numbers.end(), mosaic.tile_dims.begin(), mosaic.tile_dims.end());
  const auto bytes = std::as_bytes(std::span(numbers));
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  out.insert(out.end(), mosaic.fill.begin(), mosaic.fill.end());
  return out;
}

Mosaic mosaic_of(std::span<const std::byte> bytes, std::uint64_t decoded_length, std::uint32_t blocks) {
  const auto number = [&bytes] {
    std::uint64_t value = 0;
    if (bytes.size() < sizeof(value)) broken_mosaic();
    std::memcpy(&value, bytes.data(), sizeof(value));
    bytes = bytes.subspan(sizeof(value));
    return value;
  };
  Mosaic mosaic;
  const std::uint64_t first = number(), element = number(), rank = number();
  if (first > blocks || element == 0 || element > UINT32_MAX || rank == 0 || rank > kMostDims) broken_mosaic();
  mosaic.first_block = static_cast<std::uint32_t>(first);
  mosaic.element_bytes = static_cast<std::uint32_t>(element);
  std::uint64_t length = element;
  for (std::uint64_t d = 0; d < rank; ++d) length = times(length, mosaic.dims.emplace_back(number()));
  for (std::uint64_t d = 0; d < rank; ++d) {
    if (mosaic.tile_dims.emplace_back(number()) == 0) broken_mosaic();
  }
  mosaic.fill.assign(bytes.begin(), bytes.end());
  if (length != decoded_length || length == 0 || length > kLongestMosaic || mosaic.tile_bytes() > kLongestMosaic ||
      mosaic.tiles() > blocks - first)
    broken_mosaic();
  return mosaic;
}

Assembly::Assembly(const Mosaic& mosaic, std::vector<std::byte>& whole)
    : mosaic_(mosaic), whole_(whole), tile_bytes_(mosaic.tile_bytes()) {
  std::uint64_t bytes = mosaic.element_bytes;
  for (const std::uint64_t dim : mosaic.dims) bytes = times(bytes, dim);
  whole.resize(bytes);
}

void Assembly::place(std::uint64_t number, std::span<const std::byte> tile) {
  if (!tile.empty() && tile.size() != tile_bytes_) {
    throw Error::corrupt("a chunk has " + std::to_string(tile.size()) + " bytes, but the size of a chunk is " +
                         std::to_string(tile_bytes_));
  }
  if (tile.empty() && unwritten_.empty()) {
    unwritten_.resize(tile_bytes_);
    for (std::size_t i = 0; i < tile_bytes_ && !mosaic_.fill.empty(); ++i)
      unwritten_[i] = mosaic_.fill[i % mosaic_.fill.size()];
  }
  place_tile(mosaic_, number, tile.empty() ? unwritten_ : tile, whole_.data());
}

void assemble(const Mosaic& mosaic, std::vector<std::byte>& whole,
              const std::function<void(std::uint32_t block, std::vector<std::byte>& tile)>& bring) {
  Assembly assembly(mosaic, whole);
  std::vector<std::byte> tile;
  for (std::uint64_t number = 0, count = mosaic.tiles(); number < count; ++number) {
    bring(mosaic.first_block + static_cast<std::uint32_t>(number), tile);
    assembly.place(number, tile);
  }
}

}  // namespace penstock
