#include <algorithm>
#include <bit>
#include <utility>

#include <formats/hdf5/arrays.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kChecksum = 4;
constexpr std::uint64_t kMostBits = 62;

std::uint64_t log2_of(std::uint64_t value) {
  return static_cast<std::uint64_t>(std::bit_width(value)) - 1;
}

Error broken_array() {
  return Error::corrupt("an invalid chunk array");
}

void expect_part(Hdf5Cursor& cursor, std::string_view signature, bool filtered) {
  cursor.expect(signature);
  if (cursor.u8() != 0) throw Error::unsupported("a chunk array of a newer HDF5");
  if (cursor.u8() != (filtered ? 1 : 0)) throw broken_array();
}

bool bit(std::span<const std::byte> bits, std::uint64_t number) {
  return (std::to_integer<unsigned>(bits[number / 8]) >> (7 - number % 8) & 1U) != 0;
}

// Returns the bytes of `count` entries. Throws if the file is too small for them.
std::uint64_t bytes_of(const Hdf5File& file, std::uint64_t count, std::uint64_t entry_bytes) {
  if (entry_bytes == 0 || count > file.size() / entry_bytes) throw broken_array();
  return count * entry_bytes;
}

void add_run(Hdf5Array& array, std::uint64_t first, std::span<const std::byte> entries) {
  array.runs.insert_or_assign(first, std::vector<std::byte>(entries.begin(), entries.end()));
}

// Adds consecutive pages of `per_page` entries, from `address` on, each with a checksum. Pages whose bit in `written`
// is not set were never written.
void add_pages(const Hdf5File& file, Hdf5Array& array, std::uint64_t address, std::uint64_t first, std::uint64_t count,
               std::uint64_t per_page, std::span<const std::byte> written, std::uint64_t first_bit) {
  for (std::uint64_t page = 0, done = 0; done < count; ++page) {
    const std::uint64_t entries = std::min(per_page, count - done);
    const std::uint64_t bytes = bytes_of(file, entries, array.entry_bytes);
    if (bit(written, first_bit + page)) {
      const auto read = file.read_checked(address, bytes + kChecksum);
      add_run(array, first + done, std::span(read).first(bytes));
    }
    address += bytes + kChecksum;
    done += entries;
  }
}

class ExtensibleArray {
 public:
  ExtensibleArray(const Hdf5File& file, std::uint64_t address) : file_(file) {
    const std::uint64_t l = file.sizes().length, o = file.sizes().offset;
    const auto bytes = file.read_checked(address, 4 + 8 + 6 * l + o + kChecksum);
    Hdf5Cursor cursor = file.cursor(bytes);
    cursor.expect("EAHD");
    if (cursor.u8() != 0) throw Error::unsupported("a chunk array of a newer HDF5");
    array_.filtered = cursor.u8() != 0;
    array_.entry_bytes = cursor.u8();
    const std::uint64_t bits = cursor.u8();
    in_index_ = cursor.u8();
    least_ = cursor.u8();
    const std::uint64_t least_pointers = cursor.u8();
    const std::uint64_t page_bits = cursor.u8();
    cursor.skip(6 * l);
    const std::uint64_t index = cursor.address();
    const bool possible = std::has_single_bit(least_) && std::has_single_bit(least_pointers) && bits <= kMostBits &&
                          log2_of(least_) <= bits && page_bits <= kMostBits && array_.entry_bytes != 0;
    if (!possible) throw broken_array();
    per_page_ = std::uint64_t{1} << page_bits;
    offset_width_ = (bits + 7) / 8;
    super_blocks_ = 1 + bits - log2_of(least_);
    in_index_super_ = 2 * log2_of(least_pointers);
    index_data_ = 2 * (least_pointers - 1);
    if (in_index_super_ > super_blocks_) throw broken_array();
    if (index != kNoAddress) read_index(index);
  }

  Hdf5Array take() { return std::move(array_); }

 private:
  // Super block s has 2^(s/2) data blocks of 2^((s+1)/2) times the minimum number of entries.
  static std::uint64_t data_blocks_of(std::uint64_t super) { return std::uint64_t{1} << (super / 2); }
  std::uint64_t entries_of(std::uint64_t super) const { return (std::uint64_t{1} << ((super + 1) / 2)) * least_; }

  void read_index(std::uint64_t address) {
    const std::uint64_t o = file_.sizes().offset;
    const std::uint64_t head = 4 + 1 + 1 + o;
    const std::uint64_t supers = super_blocks_ - in_index_super_;
    const std::uint64_t entries = in_index_ * array_.entry_bytes;
    const auto bytes = file_.read_checked(address, head + entries + (index_data_ + supers) * o + kChecksum);
    Hdf5Cursor cursor = file_.cursor(bytes);
    expect_part(cursor, "EAIB", array_.filtered);
    cursor.skip(o);
    if (entries != 0) add_run(array_, 0, cursor.take(entries));
    std::uint64_t first = in_index_, data = 0;
    for (std::uint64_t super = 0; super < in_index_super_; ++super) {
      for (std::uint64_t i = 0; i < data_blocks_of(super) && data < index_data_; ++i, ++data) {
        read_data(cursor.address(), first, entries_of(super), {}, 0);
        first += entries_of(super);
      }
    }
    for (std::uint64_t super = in_index_super_; super < super_blocks_; ++super) {
      read_super(cursor.address(), super, first);
      first += data_blocks_of(super) * entries_of(super);
    }
  }

  void read_super(std::uint64_t address, std::uint64_t super, std::uint64_t first) {
    if (address == kNoAddress) return;
    const std::uint64_t o = file_.sizes().offset;
    const std::uint64_t blocks = data_blocks_of(super), entries = entries_of(super);
    const std::uint64_t pages = entries > per_page_ ? entries / per_page_ : 0;
    const std::uint64_t bits = (pages + 7) / 8;  // bytes of these bits, per data block
    const std::uint64_t pointers = bytes_of(file_, blocks, o + bits);
    const auto bytes = file_.read_checked(address, 4 + 1 + 1 + o + offset_width_ + pointers + kChecksum);
    Hdf5Cursor cursor = file_.cursor(bytes);
    expect_part(cursor, "EASB", array_.filtered);
    cursor.skip(o + offset_width_);
    const auto written = cursor.take(blocks * bits);
    for (std::uint64_t i = 0; i < blocks; ++i) {
      read_data(cursor.address(), first + i * entries, entries, written, i * pages);
    }
  }

  void read_data(std::uint64_t address, std::uint64_t first, std::uint64_t entries, std::span<const std::byte> written,
                 std::uint64_t first_bit) {
    if (address == kNoAddress) return;
    const std::uint64_t head = 4 + 1 + 1 + file_.sizes().offset + offset_width_;
    const bool paged = entries > per_page_ && !written.empty();
    const std::uint64_t content = paged ? 0 : bytes_of(file_, entries, array_.entry_bytes);
    const auto bytes = file_.read_checked(address, head + content + kChecksum);
    Hdf5Cursor cursor = file_.cursor(bytes);
    expect_part(cursor, "EADB", array_.filtered);
    if (paged) {
      add_pages(file_, array_, address + head + kChecksum, first, entries, per_page_, written, first_bit);
    } else {
      add_run(array_, first, std::span(bytes).subspan(head, content));
    }
  }

  const Hdf5File& file_;
  Hdf5Array array_;
  std::uint64_t in_index_ = 0, least_ = 0, per_page_ = 0, offset_width_ = 0;
  std::uint64_t super_blocks_ = 0, in_index_super_ = 0, index_data_ = 0;
};

}  // namespace

std::span<const std::byte> Hdf5Array::entry(std::uint64_t number) const {
  auto run = runs.upper_bound(number);
  if (run == runs.begin()) return {};
  --run;
  const std::uint64_t inside = number - run->first;
  if (inside >= run->second.size() / entry_bytes) return {};
  return std::span(run->second).subspan(inside * entry_bytes, entry_bytes);
}

Hdf5Array read_fixed_array(const Hdf5File& file, std::uint64_t address) {
  const std::uint64_t l = file.sizes().length, o = file.sizes().offset;
  const auto bytes = file.read_checked(address, 4 + 4 + l + o + kChecksum);
  Hdf5Cursor cursor = file.cursor(bytes);
  Hdf5Array array;
  cursor.expect("FAHD");
  if (cursor.u8() != 0) throw Error::unsupported("a chunk array of a newer HDF5");
  array.filtered = cursor.u8() != 0;
  array.entry_bytes = cursor.u8();
  const std::uint64_t page_bits = cursor.u8();
  const std::uint64_t entries = cursor.length();
  const std::uint64_t block = cursor.address();
  if (page_bits > kMostBits || array.entry_bytes == 0) throw broken_array();
  if (block == kNoAddress) return array;

  const std::uint64_t per_page = std::uint64_t{1} << page_bits;
  const std::uint64_t head = 4 + 1 + 1 + o;
  const std::uint64_t content = bytes_of(file, entries, array.entry_bytes);
  const bool paged = entries > per_page;
  const std::uint64_t bits = paged ? (entries / per_page + (entries % per_page != 0 ? 1 : 0) + 7) / 8 : 0;
  const auto data = file.read_checked(block, head + (paged ? bits : content) + kChecksum);
  Hdf5Cursor part = file.cursor(data);
  expect_part(part, "FADB", array.filtered);
  part.skip(o);
  if (paged) {
    add_pages(file, array, block + head + bits + kChecksum, 0, entries, per_page, part.take(bits), 0);
  } else {
    add_run(array, 0, part.take(content));
  }
  return array;
}

Hdf5Array read_extensible_array(const Hdf5File& file, std::uint64_t address) {
  return ExtensibleArray(file, address).take();
}

}  // namespace penstock
