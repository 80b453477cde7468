#include <algorithm>
#include <functional>
#include <utility>

#include <formats/hdf5/arrays.hpp>
#include <formats/hdf5/chunks.hpp>
#include <formats/hdf5/tree.hpp>

namespace penstock {
namespace {

class Lister {
 public:
  Lister(const Hdf5File& file, const Hdf5Dataset& dataset, const std::vector<std::uint64_t>& grid)
      : file_(file), dataset_(dataset), grid_(grid) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : grid) count *= extent;
    chunks_.resize(count);
  }

  std::vector<Hdf5Chunk> list() {
    if (dataset_.address == kNoAddress || chunks_.empty()) return std::move(chunks_);
    switch (dataset_.index) {
      case Hdf5Dataset::ChunkIndex::tree1:
        visit_tree1(dataset_.address, 256);
        break;
      case Hdf5Dataset::ChunkIndex::single:
        if (chunks_.size() != 1) throw Error::corrupt("one chunk where there should be more");
        put(0, dataset_.address, dataset_.single_length, dataset_.single_mask);
        break;
      case Hdf5Dataset::ChunkIndex::implicit:
        list_implicit();
        break;
      case Hdf5Dataset::ChunkIndex::fixed_array:
        list_array(kNoDimension);
        break;
      case Hdf5Dataset::ChunkIndex::extensible_array:
        list_array(unlimited_dimension());
        break;
      case Hdf5Dataset::ChunkIndex::tree2:
        list_tree2();
        break;
    }
    return std::move(chunks_);
  }

 private:
  static constexpr std::size_t kNoDimension = ~std::size_t{0};

  void put(std::uint64_t number, std::uint64_t address, std::uint64_t length, std::uint32_t mask) {
    if (address == kNoAddress) return;
    const std::uint64_t offset = file_.offset_of(address);
    if (length > file_.size() - offset)
      throw Error::corrupt("chunk extends past the end of the file", {.offset = offset});
    if (length == 0) throw Error::corrupt("chunk of 0 bytes", {.offset = offset});
    chunks_[number] = {offset, length, mask};
  }

  // Stores a chunk by its position in the grid. Chunks outside the grid are left from before the dataset was shrunk.
  void put_at(const std::vector<std::uint64_t>& at, std::uint64_t address, std::uint64_t length, std::uint32_t mask) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      if (at[i] >= grid_[i]) return;
      number = number * grid_[i] + at[i];
    }
    put(number, address, length, mask);
  }

  // Source: section III.A.1, node type 1. A key contains the stored length, the filter mask, and the position in
  // elements, with one more dimension for the bytes of an element.
  void visit_tree1(std::uint64_t address, unsigned above) {
    const std::size_t rank = grid_.size();
    const std::uint64_t o = file_.sizes().offset;
    const std::uint64_t key = 8 + 8 * (rank + 1);
    const auto head = file_.read(address, 8 + 2 * o);
    Hdf5Cursor cursor = file_.cursor(head);
    cursor.expect("TREE");
    if (cursor.u8() != 1) throw Error::corrupt("a chunk B-tree of the wrong kind");
    const unsigned level = cursor.u8();
    const std::uint64_t entries = cursor.u16();
    if (level >= above) throw Error::corrupt("a B-tree whose levels do not descend");
    const auto bytes = file_.read(address + 8 + 2 * o, entries * (key + o));
    Hdf5Cursor children = file_.cursor(bytes);
    std::vector<std::uint64_t> at(rank);
    for (std::uint64_t i = 0; i < entries; ++i) {
      const std::uint32_t length = children.u32();
      const std::uint32_t mask = children.u32();
      for (std::size_t d = 0; d < rank; ++d) {
        const std::uint64_t element = children.u64();
        if (element % dataset_.chunk_dims[d] != 0) throw Error::corrupt("a chunk that begins inside another");
        at[d] = element / dataset_.chunk_dims[d];
      }
      children.skip(8);
      const std::uint64_t child = children.address();
      level == 0 ? put_at(at, child, length, mask) : visit_tree1(child, level);
    }
  }

  // Source: section III.A.2, record types 10 and 11.
  void list_tree2() {
    const std::size_t rank = grid_.size();
    const std::uint64_t o = file_.sizes().offset;
    std::vector<std::uint64_t> at(rank);
    each_record(file_, dataset_.address, [&](unsigned type, std::span<const std::byte> record) {
      constexpr unsigned kPlain = 10, kFiltered = 11;
      Hdf5Cursor cursor = file_.cursor(record);
      const std::uint64_t address = cursor.address();
      std::uint64_t length = dataset_.chunk_bytes;
      std::uint32_t mask = 0;
      if (type == kFiltered) {
        const std::uint64_t others = o + 4 + 8 * rank;
        if (record.size() < others) throw Error::corrupt("a chunk B-tree of another rank");
        length = cursor.number(record.size() - others);
        mask = cursor.u32();
      } else if (type != kPlain) {
        throw Error::corrupt("a chunk B-tree of the wrong kind");
      }
      for (std::uint64_t& place : at) place = cursor.u64();
      put_at(at, address, length, mask);
    });
  }

  // Chunks are numbered in row-major order of the maximum dimensions, with the unlimited dimension first.
  void each_number(std::size_t unlimited, const std::function<void(std::uint64_t, std::uint64_t)>& visit) const {
    const std::size_t rank = grid_.size();
    std::vector<std::size_t> order;
    if (unlimited != kNoDimension) order.push_back(unlimited);
    for (std::size_t i = 0; i < rank; ++i) {
      if (i != unlimited) order.push_back(i);
    }
    std::vector<std::uint64_t> weight(rank, 1);
    for (std::size_t i = rank; i-- > 1;) {
      const std::uint64_t most = dataset_.most_dims[order[i]];
      if (most == Hdf5Dataset::kUnlimited) throw Error::corrupt("a second unlimited dimension");
      const std::uint64_t chunk = dataset_.chunk_dims[order[i]];
      const std::uint64_t extent = most / chunk + (most % chunk != 0 ? 1 : 0);
      if (__builtin_mul_overflow(weight[order[i]], extent, &weight[order[i - 1]]))
        throw Error::corrupt("more chunks than can be numbered");
    }
    std::vector<std::uint64_t> at(rank, 0);
    for (std::uint64_t number = 0; number < chunks_.size(); ++number) {
      std::uint64_t entry = 0;
      for (std::size_t i = 0; i < rank; ++i) entry += at[i] * weight[i];
      visit(number, entry);
      for (std::size_t i = rank; i-- > 0 && ++at[i] == grid_[i];) at[i] = 0;
    }
  }

  std::size_t unlimited_dimension() const {
    const auto found = std::find(dataset_.most_dims.begin(), dataset_.most_dims.end(), Hdf5Dataset::kUnlimited);
    if (found == dataset_.most_dims.end()) throw Error::corrupt("an extensible array for a dataset of fixed size");
    return static_cast<std::size_t>(found - dataset_.most_dims.begin());
  }

  void list_implicit() {
    each_number(kNoDimension, [&](std::uint64_t number, std::uint64_t entry) {
      std::uint64_t address = 0;
      if (__builtin_mul_overflow(entry, dataset_.chunk_bytes, &address) ||
          __builtin_add_overflow(address, dataset_.address, &address)) {
        throw Error::corrupt("chunk extends past the end of the file");
      }
      put(number, address, dataset_.chunk_bytes, 0);
    });
  }

  void list_array(std::size_t unlimited) {
    const bool fixed = dataset_.index == Hdf5Dataset::ChunkIndex::fixed_array;
    const Hdf5Array array =
        fixed ? read_fixed_array(file_, dataset_.address) : read_extensible_array(file_, dataset_.address);
    const std::uint64_t o = file_.sizes().offset;
    if (array.filtered && array.entry_bytes < o + 4) throw Error::corrupt("a chunk array of the wrong kind");
    if (!array.filtered && array.entry_bytes != o) throw Error::corrupt("a chunk array of the wrong kind");
    each_number(unlimited, [&](std::uint64_t number, std::uint64_t entry) {
      const std::span<const std::byte> bytes = array.entry(entry);
      if (bytes.empty()) return;
      Hdf5Cursor cursor = file_.cursor(bytes);
      const std::uint64_t address = cursor.address();
      std::uint64_t length = dataset_.chunk_bytes;
      std::uint32_t mask = 0;
      if (array.filtered) {
        length = cursor.number(array.entry_bytes - o - 4);
        mask = cursor.u32();
      }
      put(number, address, length, mask);
    });
  }

  const Hdf5File& file_;
  const Hdf5Dataset& dataset_;
  const std::vector<std::uint64_t>& grid_;
  std::vector<Hdf5Chunk> chunks_;
};

}  // namespace

std::vector<Hdf5Chunk> read_chunks(const Hdf5File& file, const Hdf5Dataset& dataset,
                                   const std::vector<std::uint64_t>& grid) {
  return Lister(file, dataset, grid).list();
}

}  // namespace penstock
