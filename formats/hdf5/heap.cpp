#include <algorithm>
#include <bit>

#include <formats/hdf5/heap.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLargestHeapBits = 63;

std::uint64_t log2_of(std::uint64_t value) {
  return static_cast<std::uint64_t>(std::bit_width(value)) - 1;
}

Error broken_heap() {
  return Error::corrupt("an invalid heap");
}

}  // namespace

Hdf5Heap::Hdf5Heap(const Hdf5File& file, std::uint64_t address) : file_(file) {
  const std::uint64_t l = file.sizes().length, o = file.sizes().offset;
  const auto bytes = file.read_checked(address, 4 + 1 + 2 + 2 + 1 + 4 + 12 * l + 3 * o + 2 + 2 + 2 + 2 + 4);
  Hdf5Cursor cursor = file.cursor(bytes);
  cursor.expect("FRHP");
  if (cursor.u8() != 0) throw Error::unsupported("a heap of a newer HDF5");
  cursor.skip(2);
  if (cursor.u16() != 0) throw Error::unsupported("a compressed heap");
  cursor.skip(1);
  const std::uint64_t largest_object = cursor.u32();
  cursor.skip(l + o + l + o + 8 * l);
  table_width_ = cursor.u16();
  first_block_bytes_ = cursor.length();
  largest_direct_ = cursor.length();
  const std::uint64_t bits = cursor.u16();
  cursor.skip(2);
  root_ = cursor.address();
  root_rows_ = cursor.u16();
  const bool possible = std::has_single_bit(table_width_) && std::has_single_bit(first_block_bytes_) &&
                        std::has_single_bit(largest_direct_) && first_block_bytes_ <= largest_direct_ &&
                        largest_direct_ < std::uint64_t{1} << 32 && first_block_bytes_ <= std::uint64_t{1} << 31 &&
                        bits <= kLargestHeapBits && largest_object != 0;
  if (!possible) throw broken_heap();
  offset_width_ = (bits + 7) / 8;
  length_width_ = std::min((log2_of(largest_direct_) + 7) / 8, log2_of(largest_object) / 8 + 1);
}

std::uint64_t Hdf5Heap::row_bytes(std::uint64_t row) const {
  return row == 0 ? first_block_bytes_ : first_block_bytes_ << (row - 1);
}

std::vector<std::byte> Hdf5Heap::read_direct(std::uint64_t block, std::uint64_t offset, std::uint64_t length,
                                             std::uint64_t block_bytes) const {
  if (offset > block_bytes || length > block_bytes - offset) throw broken_heap();
  if (block == kNoAddress) throw broken_heap();
  return file_.read(block + offset, length);
}

std::vector<std::byte> Hdf5Heap::object(std::span<const std::byte> id) const {
  Hdf5Cursor cursor = file_.cursor(id);
  if ((cursor.u8() & 0xF0U) != 0) throw Error::unsupported("an object outside its heap's blocks");
  std::uint64_t offset = cursor.number(offset_width_);
  const std::uint64_t length = cursor.number(length_width_);
  if (root_ == kNoAddress) throw broken_heap();
  if (root_rows_ == 0) return read_direct(root_, offset, length, first_block_bytes_);

  const std::uint64_t direct_rows = log2_of(largest_direct_) - log2_of(first_block_bytes_) + 2;
  const std::uint64_t head = 4 + 1 + file_.sizes().offset + offset_width_;
  std::uint64_t block = root_, rows = root_rows_;
  while (true) {
    const std::uint64_t first_row = table_width_ * first_block_bytes_;
    const std::uint64_t row = offset < first_row ? 0 : log2_of(offset / first_row) + 1;
    if (row >= rows || row > 62) throw broken_heap();
    const std::uint64_t bytes = row_bytes(row);
    const std::uint64_t before = row == 0 ? 0 : first_row << (row - 1);
    const std::uint64_t entry = row * table_width_ + (offset - before) / bytes;
    offset = (offset - before) % bytes;
    const auto pointer = file_.read(block + head + entry * file_.sizes().offset, file_.sizes().offset);
    block = file_.cursor(pointer).address();
    if (block == kNoAddress) throw broken_heap();
    if (row < direct_rows) return read_direct(block, offset, length, bytes);
    if (bytes < first_row) throw broken_heap();
    rows = log2_of(bytes) - log2_of(first_row) + 1;
  }
}

// "GCOL", version, 3 reserved, length of the collection; then objects: number (2), references (2), reserved (4),
// length, and the bytes up to a multiple of 8. Number 0 is free space. Source: section III.E.
const std::vector<Hdf5Collections::Object>& Hdf5Collections::collection(std::uint64_t address) {
  if (file_.overlaid(address, 1))
    throw Error::unsupported(
        "values are inside the file's metadata cache image; open the file for writing once (h5py, mode \"r+\") to move "
        "them out of it");
  const auto [known, added] = collections_.try_emplace(address);
  if (!added) return known->second;
  const std::uint64_t length_bytes = file_.sizes().length;
  const std::uint64_t head = 8 + length_bytes;
  const auto first = file_.read(address, head);
  Hdf5Cursor cursor = file_.cursor(first);
  cursor.expect("GCOL");
  if (cursor.u8() != 1) throw Error::unsupported("a heap of a newer HDF5");
  cursor.skip(3);
  const std::uint64_t length = cursor.length();
  if (length > file_.size() - file_.offset_of(address)) throw broken_heap();
  std::vector<Object>& objects = known->second;
  for (std::uint64_t at = (head + 7) / 8 * 8; at + 8 + length_bytes <= length;) {
    const auto bytes = file_.read(address + at, 8 + length_bytes);
    Hdf5Cursor object = file_.cursor(bytes);
    const std::uint32_t number = object.u16();
    object.skip(6);
    const std::uint64_t size = object.length();
    if (number == 0) break;
    at += (8 + length_bytes + 7) / 8 * 8;
    if (at > length || size > length - at) throw broken_heap();
    objects.push_back({number, {file_.offset_of(address + at), size}});
    at += (size + 7) / 8 * 8;
  }
  std::sort(objects.begin(), objects.end(), [](const Object& a, const Object& b) { return a.number < b.number; });
  return objects;
}

Hdf5Collections::Location Hdf5Collections::find(std::uint64_t address, std::uint32_t number) {
  if (address == kNoAddress) throw Error::corrupt("a value without an address");
  const std::vector<Object>& objects = collection(address);
  const auto found =
      std::lower_bound(objects.begin(), objects.end(), number,
                       [](const Object& object, std::uint32_t wanted) { return object.number < wanted; });
  if (found == objects.end() || found->number != number) throw Error::corrupt("a value that is not in its heap");
  return found->location;
}

}  // namespace penstock
