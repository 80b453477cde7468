// Files that no writer makes: metadata that refer to themselves, share what they hold, or shrink what nothing can hold.
// All of them are laid out by hand; each must end in one clear error, within seconds and bounded memory.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include <formats/filters/zstd.hpp>
#include <formats/hdf5/checksum.hpp>
#include <formats/hdf5/hdf5.hpp>

#include "support/read_in_child.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::hdf5_hostile_test {
namespace {

constexpr unsigned kSeconds = 20;
constexpr std::uint64_t kMega = std::uint64_t{1} << 20;
constexpr unsigned kDataspace = 1, kLinkTable = 2, kDatatype = 3, kLink = 6, kLayout = 8, kFilters = 11,
                   kAttribute = 12, kContinuation = 16, kSymbolTable = 17, kAttributeTable = 21;

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}
std::string u8(std::uint64_t value) {
  return number(value, 1);
}
std::string u16(std::uint64_t value) {
  return number(value, 2);
}
std::string u32(std::uint64_t value) {
  return number(value, 4);
}
std::string u64(std::uint64_t value) {
  return number(value, 8);
}
const std::string kNowhere = u64(~std::uint64_t{0});

std::string checked(std::string bytes) {
  return bytes + u32(hdf5_checksum(test::bytes_of(bytes)));
}

std::string message(unsigned type, const std::string& body) {
  return u16(type) + u16(body.size()) + u8(0) + std::string(3, '\0') + body;
}
std::string continuation(std::uint64_t address, std::uint64_t length) {
  return message(kContinuation, u64(address) + u64(length));
}
std::string link(const std::string& name, std::uint64_t address) {
  return message(kLink, u8(1) + u8(1) + u16(name.size()) + name + u64(address));
}

// Builds up a file with 8-byte addresses and lengths behind a superblock of version 0.
class Made {
 public:
  Made() : bytes_(kSuperblock, '\0') {}

  std::uint64_t next() const { return bytes_.size(); }
  std::uint64_t put(const std::string& bytes) {
    const std::uint64_t address = next();
    bytes_ += bytes + std::string((8 - bytes.size() % 8) % 8, '\0');
    return address;
  }
  /// An object header of version 1.
  std::uint64_t object(const std::string& messages) {
    return put(u8(1) + u8(0) + u16(1) + u32(1) + u32(messages.size()) + u32(0) + messages);
  }
  /// An object header of version 2, whose messages have short heads.
  static std::string object2(const std::string& messages) {
    return checked("OHDR" + u8(2) + u8(2) + u32(messages.size()) + messages);
  }
  /// Reads the file whose top level is at `root`; what its one error says.
  std::string refusal(std::uint64_t root) {
    std::string told;
    CHECK(read(root, &told) == test::kRefused);
    return told;
  }
  int read(std::uint64_t root, std::string* told = nullptr) {
    const std::string head = "\x89HDF\r\n\x1A\n" + std::string(5, '\0') + u8(8) + u8(8) + std::string(9, '\0') +
                             u64(0) + kNowhere + u64(bytes_.size()) + kNowhere + u64(0) + u64(root);
    bytes_.replace(0, head.size(), head);
    test::write_file(folder_ / "hostile.h5", bytes_);
    return test::read_in_child(kHdf5, folder_ / "hostile.h5", kSeconds, told);
  }

 private:
  static constexpr std::size_t kSuperblock = 96;
  std::string bytes_;
  TemporaryFolder folder_;
};

std::string text_type(std::uint64_t width) {
  return message(kDatatype, u8(0x13) + number(0, 3) + u32(width));
}
const std::string kByteType = message(kDatatype, u8(0x10) + number(0, 3) + u32(1) + u16(0) + u16(8));
std::string rows(std::uint64_t count) {
  return message(kDataspace, u8(1) + u8(1) + u8(0) + number(0, 5) + u64(count));
}
std::string chunks(std::uint64_t tree, std::uint64_t of_rows, std::uint64_t width) {
  return message(kLayout, u8(3) + u8(2) + u8(2) + u64(tree) + u32(of_rows) + u32(width));
}
const std::string kDeflated = message(kFilters, u8(2) + u8(1) + u16(1) + u16(0) + u16(0));
const std::string kZstd = message(kFilters, u8(2) + u8(1) + u16(32015) + u16(0) + u16(0) + u16(0));

// A node of a version 1 tree of chunks: each child with the first row of its chunk, or chunks.
struct Child {
  std::uint64_t row, address, length;
};
std::string tree_node(unsigned level, const std::vector<Child>& children) {
  std::string node = "TREE" + u8(1) + u8(level) + u16(children.size()) + kNowhere + kNowhere;
  for (const Child& child : children) node += u32(child.length) + u32(0) + u64(child.row) + u64(0) + u64(child.address);
  return node;
}

std::string deflated_zeros(std::uint64_t length) {
  const std::string plain(length, '\0');
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  std::string stored(libdeflate_zlib_compress_bound(compressor, plain.size()), '\0');
  stored.resize(libdeflate_zlib_compress(compressor, plain.data(), plain.size(), stored.data(), stored.size()));
  libdeflate_free_compressor(compressor);
  return stored;
}

// A dataset of `count` rows of zeros whose chunks of `chunk_rows` all lie at the same deflated bytes.
std::uint64_t zeros(Made& file, const std::string& type, std::uint64_t width, std::uint64_t count,
                    std::uint64_t chunk_rows) {
  const std::string stored = deflated_zeros(chunk_rows * width);
  const std::uint64_t at = file.put(stored);
  std::vector<Child> all;
  for (std::uint64_t row = 0; row < count; row += chunk_rows) {
    all.push_back({row, at, stored.size()});
    file.put(stored);  // so that the file is as long as the chunks claim to be
  }
  const std::uint64_t tree = file.put(tree_node(0, all));
  return file.object(type + rows(count) + chunks(tree, chunk_rows, width) + kDeflated);
}

// A heap whose one block is at `block`; identifiers of objects in it. Source: section III.G.
std::string heap(std::uint64_t block) {
  return checked("FRHP" + u8(0) + u16(8) + u16(0) + u8(0) + u32(1 << 19) + std::string(8 + 8 + 8 + 8, '\0') +
                 std::string(8 * 8, '\0') + u16(4) + u64(1 << 20) + u64(1 << 20) + u16(32) + u16(0) + u64(block) +
                 u16(0));
}
std::string heap_id(std::uint64_t offset, std::uint64_t length) {
  return u8(0) + number(offset, 4) + number(length, 3);
}

// Version 2 trees all of whose nodes on one level are the same node: each leaf's records come again and again.
std::uint64_t lattice2(Made& file, const std::string& record, unsigned depth) {
  constexpr std::uint64_t kNode = 512, kOverhead = 10;
  const std::uint64_t room = kNode - kOverhead, in_leaf = room / record.size();
  const auto width = [](std::uint64_t most) { return most == 0 ? 0 : (64 - __builtin_clzll(most) + 7) / 8; };
  std::uint64_t below = in_leaf, records = in_leaf, address = 0;
  const int count_width = width(in_leaf);
  int total_width = 0;
  std::string body;
  for (std::uint64_t i = 0; i < records; ++i) body += record;
  address = file.put(checked("BTLF" + u8(0) + u8(5) + body));
  for (unsigned level = 1; level <= depth; ++level) {
    const std::uint64_t pointer = 8 + static_cast<std::uint64_t>(count_width + total_width);
    const std::uint64_t most = (room - pointer) / (record.size() + pointer);
    std::string node = "BTIN" + u8(0) + u8(5);
    for (std::uint64_t i = 0; i < most; ++i) node += record;
    for (std::uint64_t i = 0; i <= most; ++i)
      node += u64(address) + number(records, count_width) + number(0, total_width);
    address = file.put(checked(node));
    std::uint64_t total = 0;
    const bool too_many =
        __builtin_mul_overflow(most + 1, below, &total) || __builtin_add_overflow(total, most, &total);
    below = too_many ? ~std::uint64_t{0} : total;
    total_width = width(below);
    records = most;
  }
  return file.put(checked("BTHD" + u8(0) + u8(5) + u32(kNode) + u16(record.size()) + u16(depth) + u8(100) + u8(40) +
                          u64(address) + u16(records) + u64(below)));
}

bool says(const std::string& told, const std::string& what) {
  return told.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("what is laid out here is a file: a dataset in chunks is read") {
  Made file;
  const std::uint64_t x = zeros(file, kByteType, 1, 4000, 1000);
  CHECK(file.read(file.object(link("x", x))) == test::kIndexed);
  const std::uint64_t texts = zeros(file, text_type(8), 8, 4000, 1000);
  CHECK(file.read(file.object(link("x", x) + link("texts", texts))) == test::kIndexed);
}

TEST_CASE("object headers that continue in themselves end") {
  Made once;
  const std::uint64_t run = once.next() + 16;
  CHECK(says(once.refusal(once.object(continuation(run, 24))), "an object header that does not end"));

  // Each run names itself many times: not as many runs as there would be are kept.
  Made often;
  const std::uint64_t begin = often.next() + 16;
  std::string runs;
  for (int i = 0; i < 2000; ++i) runs += continuation(begin, 2000 * 24);
  const std::string told = often.refusal(often.object(runs));
  CHECK((says(told, "an object header that does not end") || says(told, "refer to themselves")));

  Made second;
  const std::uint64_t at = second.next();
  const std::string body = u8(kContinuation) + u16(16) + u8(0);
  const std::uint64_t chunk = at + 64;
  second.put(Made::object2(body + u64(chunk) + u64(4 + 20 + 4)));
  while (second.next() < chunk) second.put(u64(0));
  second.put(checked("OCHK" + body + u64(chunk) + u64(4 + 20 + 4)));
  CHECK(says(second.refusal(at), "an object header that does not end"));
}

TEST_CASE("trees of a group that lead back to themselves, or to the same node many times, end") {
  constexpr std::uint64_t kEntries = 200;
  const auto node = [](unsigned level, std::uint64_t child) {
    std::string bytes = "TREE" + u8(0) + u8(level) + u16(kEntries) + kNowhere + kNowhere;
    for (std::uint64_t i = 0; i < kEntries; ++i) bytes += u64(0) + u64(child);
    return bytes + u64(0);
  };
  Made cycle;
  const std::uint64_t names = cycle.put("name");
  const std::uint64_t heap = cycle.put("HEAP" + u32(0) + u64(8) + u64(0) + u64(names));
  const std::uint64_t tree = cycle.put(node(3, cycle.next()));
  CHECK(says(cycle.refusal(cycle.object(message(kSymbolTable, u64(tree) + u64(heap)))), "levels do not descend"));

  // One long name in the heap for all symbols of all paths through the tree: 200^3 of them.
  Made shared;
  const std::uint64_t long_name = shared.put(std::string(100'000, 'n'));
  const std::uint64_t long_heap = shared.put("HEAP" + u32(0) + u64(100'008) + u64(0) + u64(long_name));
  std::string symbols = "SNOD" + u16(1) + u16(8);
  for (int i = 0; i < 8; ++i) symbols += u64(0) + u64(96) + std::string(24, '\0');
  std::uint64_t below = shared.put(symbols);
  for (unsigned level = 0; level < 3; ++level) below = shared.put(node(level, below));
  CHECK(says(shared.refusal(shared.object(message(kSymbolTable, u64(below) + u64(long_heap)))),
             "describes more data than a file of its size can contain"));
}

TEST_CASE("trees of chunks that lead back to themselves, or to the same node many times, end") {
  Made cycle;
  const std::uint64_t tree = cycle.put(tree_node(2, {{0, cycle.next(), 10}}));
  CHECK(says(cycle.refusal(cycle.object(link("x", cycle.object(kByteType + rows(100) + chunks(tree, 10, 1))))),
             "levels do not descend"));

  Made lattice;
  std::uint64_t below = lattice.put(std::string(16, 'x'));
  for (unsigned level = 0; level < 8; ++level)
    below = lattice.put(tree_node(level, std::vector<Child>(250, {0, below, 10})));
  CHECK(says(lattice.refusal(lattice.object(link("x", lattice.object(kByteType + rows(100) + chunks(below, 10, 1))))),
             "metadata refer to themselves"));
}

TEST_CASE("links and attributes in tables that name one place for ever end") {
  for (const bool attributes : {false, true}) {
    CAPTURE(attributes);
    Made file;
    const std::string name(50'000, 'n');
    const std::string held = attributes ? u8(1) + u8(0) + u16(8) + u16(8) + u16(8) + "shared\0\0" + u8(0x13) +
                                              number(0, 3) + u32(50'000) + u64(1) + name
                                        : u8(1) + u8(2) + u32(name.size()) + name + u64(96);
    const std::uint64_t block = file.put(held);
    const std::uint64_t heap_at = file.put(heap(block));
    const std::string id = heap_id(0, held.size());
    const std::uint64_t tree = lattice2(file, attributes ? id + std::string(9, '\0') : u32(7) + id, 20);
    const std::string table = u8(0) + u8(0) + u64(heap_at) + u64(tree);
    const std::string told = file.refusal(file.object(message(attributes ? kAttributeTable : kLinkTable, table)));
    CHECK(says(told, "metadata refer to themselves"));
  }
}

TEST_CASE("names of classes that share one long text end") {
  Made file;
  constexpr std::uint64_t kText = 1'000'000, kClasses = 3000;
  const std::uint64_t collection = file.put("GCOL" + u8(1) + number(0, 3) + u64(kText + 64) + u16(1) + u16(1) + u32(0) +
                                            u64(kText) + std::string(kText, 't') + std::string(64, '\0'));
  std::string value;
  for (std::uint64_t i = 0; i < kClasses; ++i) value += u32(kText) + u64(collection) + u32(1);
  const std::string type = u8(0x19) + u8(1) + u16(0) + u32(16) + u8(0x13) + number(0, 3) + u32(1);
  const std::string space = u8(1) + u8(1) + u8(0) + number(0, 5) + u64(kClasses);
  const std::string attribute =
      u8(1) + u8(0) + u16(8) + u16(type.size()) + u16(space.size()) + "classes" + u8(0) + type + space;
  CHECK(says(file.refusal(file.object(message(kAttribute, attribute + value))),
             "describes more data than a file of its size can contain"));
}

TEST_CASE("chunks that lie in one another are told apart from chunks that shrank") {
  Made file;
  const std::uint64_t at = file.put(std::string(1000, 'x'));
  std::vector<Child> all;
  for (std::uint64_t row = 0; row < 100'000; row += 1000) all.push_back({row, at, 1000});
  const std::uint64_t tree = file.put(tree_node(0, all));
  CHECK(says(file.refusal(file.object(link("x", file.object(kByteType + rows(100'000) + chunks(tree, 1000, 1))))),
             "chunks that overlap"));
}

TEST_CASE("values that nothing but zeros stand for cost no more than the file is worth") {
  const std::string beyond = "describes more data than a file of its size can contain";
  Made texts;  // a billion texts of one byte
  CHECK(says(texts.refusal(texts.object(link("t", zeros(texts, text_type(1), 1, 1024 * kMega, 64 * kMega)))), beyond));
  Made long_texts;  // of 64 KiB, under many names
  const std::uint64_t wide = zeros(long_texts, text_type(65536), 65536, 4096, 1024);
  std::string names;
  for (int i = 0; i < 300; ++i) names += link("t" + std::to_string(i), wide);
  CHECK(says(long_texts.refusal(long_texts.object(names)), beyond));

  for (const std::string role : {"offsets", "key"}) {  // as our own shards hold values and keys
    CAPTURE(role);
    Made file;
    const bool keys = role == "key";
    const std::uint64_t many = zeros(file, kByteType, 1, 1024 * kMega, 64 * kMega);
    const std::uint64_t few = zeros(file, kByteType, 1, 1000, 1000);
    const std::uint64_t group = file.object(link("bytes", keys ? many : few) + link("offsets", keys ? few : many));
    CHECK(says(file.refusal(file.object(link(keys ? "__key__" : "jpg", group))), beyond));
  }
}

TEST_CASE("a chunk that truly shrank to nothing is not undone to list the texts in it") {
  if (!zstd_is_linked()) return;
  Made file;  // 16,384 blocks of 128 KiB of the same byte: 2 GiB
  std::string stored = std::string("\x28\xB5\x2F\xFD\xC0\x58", 6) + u64(2048 * kMega);
  for (int i = 0; i < 16'384; ++i)
    stored += number(std::uint64_t{128 << 10} << 3 | 1U << 1 | (i == 16'383 ? 1U : 0U), 3) + "z";
  const std::uint64_t at = file.put(stored);
  const std::uint64_t tree = file.put(tree_node(0, {{0, at, stored.size()}}));
  const std::uint64_t rows_of_text = file.object(text_type(1 << 20) + rows(2048) + chunks(tree, 2048, 1 << 20) + kZstd);
  file.put(std::string(2 * kMega, '\0'));  // elements are not longer than the file
  CHECK(says(file.refusal(file.object(link("t", rows_of_text))),
             "describes more data than a file of its size can contain"));
}

TEST_CASE("groups in themselves and types in types end") {
  Made file;
  const std::uint64_t root = file.next();
  std::string links;
  for (int i = 0; i < 1000; ++i) links += link("again" + std::to_string(i), root);
  CHECK(says(file.refusal(file.object(links)), "no field that can be read"));

  Made nested;
  std::string type;
  for (int i = 0; i < 5000; ++i) type += u8(0x39) + number(0, 3) + u32(16);
  const std::uint64_t x =
      nested.object(message(kDatatype, type) + rows(10) + message(kLayout, u8(3) + u8(1) + u64(96) + u64(160)));
  CHECK(says(nested.refusal(nested.object(link("x", x))), "types that are nested too deeply"));
}

}  // namespace penstock::test::hdf5_hostile_test
