#include <bit>
#include <vector>

#include <formats/hdf5/tree.hpp>

namespace penstock {
namespace {

constexpr std::size_t kNodeOverhead = 10;  // signature, version, type, checksum
constexpr std::uint64_t kDeepest = 64;

// Returns the number of bytes that hold any number up to `most`.
std::uint64_t width_of(std::uint64_t most) {
  return (static_cast<std::uint64_t>(std::bit_width(most)) + 7) / 8;
}

std::uint64_t times_plus(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || __builtin_add_overflow(result, c, &result)) return ~std::uint64_t{0};
  return result;
}

struct Level {
  std::uint64_t most_records;   // of one node
  std::uint64_t pointer_bytes;  // of a node's pointer to a node of the level below
  std::uint64_t most_below;     // number of records in the whole subtree
  std::uint64_t total_width;    // bytes of the field for most_below; 0 for leaves
};

class Tree {
 public:
  Tree(const Hdf5File& file, std::uint64_t address, const OnRecord& on_record) : file_(file), on_record_(on_record) {
    const Hdf5Sizes sizes = file.sizes();
    const auto bytes = file.read_checked(address, 4 + 1 + 1 + 4 + 2 + 2 + 2 + sizes.offset + 2U + sizes.length + 4U);
    Hdf5Cursor cursor = file.cursor(bytes);
    cursor.expect("BTHD");
    if (cursor.u8() != 0) throw Error::unsupported("a B-tree of a newer HDF5");
    type_ = cursor.u8();
    node_bytes_ = cursor.u32();
    record_bytes_ = cursor.u16();
    const std::uint64_t depth = cursor.u16();
    cursor.skip(2);
    const std::uint64_t root = cursor.address();
    const std::uint64_t records = cursor.u16();
    if (record_bytes_ == 0 || node_bytes_ < kNodeOverhead + record_bytes_ || depth > kDeepest)
      throw Error::corrupt("an invalid B-tree");
    measure(depth);
    if (root != kNoAddress && records != 0) visit(root, depth, records);
  }

 private:
  // The width of a number in a node depends on the largest value that a subtree allows. Therefore the widths are
  // computed from the leaves upwards.
  void measure(std::uint64_t depth) {
    const std::uint64_t room = node_bytes_ - kNodeOverhead;
    const std::uint64_t in_leaf = room / record_bytes_;
    count_width_ = width_of(in_leaf);
    levels_.push_back({in_leaf, 0, in_leaf, 0});
    for (std::uint64_t level = 1; level <= depth; ++level) {
      const std::uint64_t pointer = file_.sizes().offset + count_width_ + levels_.back().total_width;
      if (room < pointer) throw Error::corrupt("an invalid B-tree");
      const std::uint64_t most = (room - pointer) / (record_bytes_ + pointer);
      const std::uint64_t below = times_plus(most + 1, levels_.back().most_below, most);
      levels_.push_back({most, pointer, below, width_of(below)});
    }
  }

  void visit(std::uint64_t address, std::uint64_t level, std::uint64_t records) {
    if (records > levels_[level].most_records) throw Error::corrupt("a B-tree node with too many records");
    const std::uint64_t pointers = level == 0 ? 0 : (records + 1) * levels_[level].pointer_bytes;
    const auto bytes = file_.read_checked(address, kNodeOverhead + records * record_bytes_ + pointers);
    Hdf5Cursor cursor = file_.cursor(bytes);
    cursor.expect(level == 0 ? "BTLF" : "BTIN");
    if (cursor.u8() != 0 || cursor.u8() != type_) throw Error::corrupt("a B-tree node of another tree");
    for (std::uint64_t i = 0; i < records; ++i) on_record_(type_, cursor.take(record_bytes_));
    if (level == 0) return;
    for (std::uint64_t i = 0; i <= records; ++i) {
      const std::uint64_t child = cursor.address();
      const std::uint64_t count = cursor.number(count_width_);
      cursor.skip(levels_[level - 1].total_width);
      visit(child, level - 1, count);
    }
  }

  const Hdf5File& file_;
  const OnRecord& on_record_;
  unsigned type_ = 0;
  std::uint64_t node_bytes_ = 0, record_bytes_ = 0, count_width_ = 0;
  std::vector<Level> levels_;
};

}  // namespace

void each_record(const Hdf5File& file, std::uint64_t address, const OnRecord& on_record) {
  Tree(file, address, on_record);
}

}  // namespace penstock
