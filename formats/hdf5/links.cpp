#include <algorithm>

#include <formats/hdf5/heap.hpp>
#include <formats/hdf5/links.hpp>
#include <formats/hdf5/tree.hpp>

namespace penstock {
namespace {

// Groups of HDF5 before 1.8: a B-tree of version 1 over tables of symbols, with names in a separate heap. Source:
// sections III.A.1, III.B, III.C, III.D.
class SymbolTable {
 public:
  SymbolTable(const Hdf5File& file, std::span<const std::byte> message, std::vector<Hdf5Link>& links)
      : file_(file), links_(links) {
    Hdf5Cursor cursor = file.cursor(message);
    const std::uint64_t tree = cursor.address();
    read_names(cursor.address());
    constexpr unsigned kAnyLevel = 256;
    if (tree != kNoAddress) visit(tree, kAnyLevel);
  }

 private:
  void read_names(std::uint64_t address) {
    const auto bytes = file_.read(address, 8 + 2U * file_.sizes().length + file_.sizes().offset);
    Hdf5Cursor cursor = file_.cursor(bytes);
    cursor.expect("HEAP");
    cursor.skip(4);
    const std::uint64_t length = cursor.length();
    cursor.length();
    names_ = file_.read(cursor.address(), length);
  }

  void visit(std::uint64_t address, unsigned above) {
    const std::uint64_t o = file_.sizes().offset, l = file_.sizes().length;
    const auto head = file_.read(address, 8 + 2 * o);
    Hdf5Cursor cursor = file_.cursor(head);
    cursor.expect("TREE");
    if (cursor.u8() != 0) throw Error::corrupt("a group's B-tree of the wrong kind");
    const unsigned level = cursor.u8();
    const std::uint64_t entries = cursor.u16();
    if (level >= above) throw Error::corrupt("a B-tree whose levels do not descend");
    const auto bytes = file_.read(address + 8 + 2 * o, entries * (l + o) + l);
    Hdf5Cursor children = file_.cursor(bytes);
    for (std::uint64_t i = 0; i < entries; ++i) {
      children.length();
      const std::uint64_t child = children.address();
      level == 0 ? read_symbols(child) : visit(child, level);
    }
  }

  void read_symbols(std::uint64_t address) {
    const std::uint64_t entry_bytes = file_.sizes().length + file_.sizes().offset + 24U;
    const auto head = file_.read(address, 8);
    Hdf5Cursor cursor = file_.cursor(head);
    cursor.expect("SNOD");
    cursor.skip(2);
    const std::uint64_t count = cursor.u16();
    const auto bytes = file_.read(address + 8, count * entry_bytes);
    Hdf5Cursor entries = file_.cursor(bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t name = entries.length();
      const std::uint64_t object = entries.address();
      const std::uint32_t kind = entries.u32();
      entries.skip(20);
      constexpr std::uint32_t kSoftLink = 2;
      if (name > names_.size()) throw Error::corrupt("a name outside its heap");
      links_.push_back(
          {file_.cursor(std::span(names_).subspan(name)).terminated(), kind == kSoftLink ? kNoAddress : object});
      file_.spend(links_.back().name.size());  // any number of links may share one name
    }
  }

  const Hdf5File& file_;
  std::vector<Hdf5Link>& links_;
  std::vector<std::byte> names_;
};

// Source: section IV.A.2.g.
Hdf5Link read_link(const Hdf5File& file, std::span<const std::byte> message) {
  Hdf5Cursor cursor = file.cursor(message);
  if (const unsigned version = cursor.u8(); version != 1)
    throw Error::unsupported("link of version " + std::to_string(version));
  const unsigned flags = cursor.u8();
  const unsigned type = (flags & 0x08U) != 0 ? cursor.u8() : 0;
  if ((flags & 0x04U) != 0) cursor.skip(8);
  if ((flags & 0x10U) != 0) cursor.skip(1);
  const std::uint64_t length = cursor.number(std::size_t{1} << (flags & 3U));
  Hdf5Link link{cursor.text(length), kNoAddress};
  if (type == 0) link.address = cursor.address();
  return link;
}

void read_link_table(const Hdf5File& file, std::span<const std::byte> message, std::vector<Hdf5Link>& links) {
  Hdf5Cursor cursor = file.cursor(message);
  if (cursor.u8() != 0) throw Error::unsupported("a group of a newer HDF5");
  if ((cursor.u8() & 1U) != 0) cursor.skip(8);
  const std::uint64_t heap_address = cursor.address();
  const std::uint64_t tree = cursor.address();
  if (heap_address == kNoAddress || tree == kNoAddress) return;
  const Hdf5Heap heap(file, heap_address);
  each_record(file, tree, [&](unsigned, std::span<const std::byte> record) {
    constexpr std::size_t kHash = 4;
    if (record.size() <= kHash) throw Error::corrupt("a group's B-tree of the wrong kind");
    links.push_back(read_link(file, heap.object(record.subspan(kHash))));
  });
}

}  // namespace

std::vector<Hdf5Link> links_of(const Hdf5File& file, const Hdf5Object& group) {
  std::vector<Hdf5Link> links;
  for (const Hdf5Message& message : group.messages()) {
    if (message.type == Hdf5MessageType::symbol_table) SymbolTable(file, message.bytes, links);
    if (message.type == Hdf5MessageType::link) links.push_back(read_link(file, message.bytes));
    if (message.type == Hdf5MessageType::link_table) read_link_table(file, message.bytes, links);
  }
  std::sort(links.begin(), links.end(), [](const Hdf5Link& a, const Hdf5Link& b) { return a.name < b.name; });
  return links;
}

}  // namespace penstock
