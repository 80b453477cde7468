#include <algorithm>
#include <array>

#include <formats/hdf5/checksum.hpp>
#include <formats/hdf5/file.hpp>
#include <formats/hdf5/object.hpp>
#include <formats/io/checks_sums.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/places/places.hpp>

namespace penstock {
namespace {

constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
constexpr std::uint64_t kFirstUserBlock = 512;
constexpr std::size_t kStampBytes = 65536;
constexpr std::size_t kPages = 256;
constexpr std::uint64_t kCostOfRead = 64;    // in bytes: small reads take time too
constexpr std::uint64_t kReadsPerByte = 32;  // valid files need less than 2
constexpr std::uint64_t kFreeReads = std::uint64_t{64} << 20;
constexpr std::size_t kLongestSuperblock = 128;

std::optional<std::uint64_t> signature_in(const ByteSource& source) {
  for (std::uint64_t start = 0; start + kSignature.size() <= source.size();
       start = std::max(kFirstUserBlock, start * 2)) {
    std::array<std::byte, kSignature.size()> found{};
    if (source.read(start, found) != found.size()) break;
    if (std::equal(kSignature.begin(), kSignature.end(), found.begin(),
                   [](unsigned char a, std::byte b) { return std::byte{a} == b; })) {
      return start;
    }
  }
  return std::nullopt;
}

void check_width(std::uint8_t width) {
  if (width != 2 && width != 4 && width != 8)
    throw Error::unsupported("addresses or lengths of " + std::to_string(width) + " bytes");
}

}  // namespace

std::optional<std::uint64_t> hdf5_signature(const std::filesystem::path& path) {
  if (!is_file(path)) return std::nullopt;
  return signature_in(*open_byte_source(path));
}

std::uint64_t hdf5_stamp(const std::filesystem::path& path) {
  const auto source = open_byte_source(path);
  const std::uint64_t size = source->size();
  std::vector<std::byte> bytes(kStampBytes);
  const std::size_t front = source->read(0, bytes);
  const std::uint64_t first = crc32c(std::span(bytes).first(front));
  const std::size_t back = source->read(size - std::min<std::uint64_t>(size, kStampBytes), bytes);
  const std::uint32_t last = crc32c(std::span(bytes).first(back));
  return (first << 32 | last) ^ size;
}

Hdf5File::Hdf5File(const std::filesystem::path& path) : source_(open_byte_source(path)), size_(source_->size()) {
  pages_.resize(kPages);
  left_ = kFreeReads + std::min<std::uint64_t>(size_, std::uint64_t{1} << 50) * kReadsPerByte;
  const std::optional<std::uint64_t> start = signature_in(*source_);
  if (!start) throw Error::corrupt("no HDF5 signature");
  read_superblock(*start);
}

// Addresses are relative to the superblock, wherever it was moved. libhdf5 does the same.
void Hdf5File::read_superblock(std::uint64_t start) {
  base_ = start;
  const std::vector<std::byte> bytes = read(0, std::min<std::uint64_t>(kLongestSuperblock, size_ - start));
  Hdf5Cursor cursor(bytes, sizes_);
  cursor.skip(kSignature.size());
  const unsigned version = cursor.u8();
  if (version > 3) throw Error::unsupported("superblock of version " + std::to_string(version) + ", of a newer HDF5");
  version < 2 ? read_first_kind(cursor, version) : read_later_kind(cursor, version);
  if (root_ == kNoAddress) throw Error::corrupt("no root group");
}

void Hdf5File::read_first_kind(Hdf5Cursor& cursor, unsigned version) {
  cursor.skip(4);
  sizes_.offset = cursor.u8();
  sizes_.length = cursor.u8();
  check_width(sizes_.offset);
  check_width(sizes_.length);
  cursor.skip(1 + 2 + 2 + 4 + (version == 1 ? 4 : 0));
  Hdf5Cursor sized(cursor.rest(), sizes_);
  const std::uint64_t written_at = sized.address();
  sized.skip(sizes_.offset);
  const std::uint64_t end = sized.address();
  if (end == kNoAddress || end - written_at > size_ - base_)
    throw Error::corrupt("file is shorter than its metadata declare");
  if (sized.address() != kNoAddress)
    throw Error::unsupported("one of several files that form one HDF5 file (family or multi driver)");
  sized.skip(sizes_.length);
  root_ = sized.address();
}

void Hdf5File::read_later_kind(Hdf5Cursor& cursor, unsigned version) {
  sizes_.offset = cursor.u8();
  sizes_.length = cursor.u8();
  check_width(sizes_.offset);
  check_width(sizes_.length);
  // In version 3, which "libver latest" and SWMR write, flags show whether a writer has the file open. Source: section
  // II.A, "File Consistency Flags".
  const unsigned flags = cursor.u8();
  if (version >= 3 && (flags & 0x05U) != 0) {
    throw Error::unsupported("marked as open for writing; close its writer, or run `h5clear -s` if the writer crashed");
  }
  Hdf5Cursor sized(cursor.rest(), sizes_);
  const std::uint64_t written_at = sized.address();
  const std::uint64_t extension = sized.address();
  const std::uint64_t end = sized.address();
  if (end == kNoAddress || end - written_at > size_ - base_)
    throw Error::corrupt("file is shorter than its metadata declare");
  root_ = sized.address();
  if (extension != kNoAddress) read_cache_image(extension);
  read_checked(0, kSignature.size() + 4 + 4U * sizes_.offset + 4);
}

// Message: version, address, length. Source: section IV.A.2.y, "The Metadata Cache Image Message".
void Hdf5File::read_cache_image(std::uint64_t extension) {
  const Hdf5Object object(*this, extension);
  const Hdf5Message* message = object.find(Hdf5MessageType::cache_image);
  if (message == nullptr) return;
  Hdf5Cursor cursor(message->bytes, sizes_);
  if (const unsigned version = cursor.u8(); version > 1)
    throw Error::unsupported("a metadata cache image of version " + std::to_string(version));
  const std::uint64_t address = cursor.address();
  const std::uint64_t length = cursor.length();
  if (address == kNoAddress || length == 0) return;  // a later writer has removed the image
  overlay(read_checked(address, length));
}

// "MDCI", version, flags, length, number of entries; then entries: type, flags, ring, age (1 each), three counts (2
// each), rank (4), address, length, as many addresses as the third count says, and the bytes; a checksum at the end.
// Source: H5Cimage.c of HDF5 1.10, which writes it.
void Hdf5File::overlay(std::span<const std::byte> image) {
  Hdf5Cursor cursor(image, sizes_);
  cursor.expect("MDCI");
  if (const unsigned version = cursor.u8(); version != 0)
    throw Error::unsupported("a metadata cache image of version " + std::to_string(version));
  cursor.skip(1);
  cursor.skip(sizes_.length);
  for (std::uint32_t left = cursor.u32(); left > 0; --left) {
    cursor.skip(4 + 2 + 2);
    const std::uint64_t parents = cursor.u16();
    cursor.skip(4);
    const std::uint64_t address = cursor.address();
    const std::uint64_t length = cursor.length();
    cursor.skip(parents * sizes_.offset);
    const auto bytes = cursor.take(length);
    if (address == 0) continue;  // the superblock, which was read already
    if (length > size_ - std::min(size_, offset_of(address)))
      throw Error::corrupt("a metadata cache image that points past the end of the file");
    image_[address].assign(bytes.begin(), bytes.end());
  }
}

bool Hdf5File::overlaid(std::uint64_t address, std::uint64_t length) const {
  auto next = image_.lower_bound(address);
  if (next != image_.end() && next->first - address < length) return true;
  if (next == image_.begin()) return false;
  --next;
  return address - next->first < next->second.size();
}

void Hdf5File::apply_overlay(std::uint64_t address, std::span<std::byte> bytes) const {
  if (image_.empty()) return;
  auto entry = image_.upper_bound(address);
  if (entry != image_.begin()) --entry;
  for (; entry != image_.end() && entry->first < address + bytes.size(); ++entry) {
    const std::uint64_t begin = std::max(address, entry->first);
    const std::uint64_t end = std::min(address + bytes.size(), entry->first + entry->second.size());
    if (begin >= end) continue;
    std::copy_n(entry->second.begin() + static_cast<std::ptrdiff_t>(begin - entry->first), end - begin,
                bytes.begin() + static_cast<std::ptrdiff_t>(begin - address));
  }
}

std::uint64_t Hdf5File::offset_of(std::uint64_t address) const {
  if (address > size_ || base_ > size_ - address) throw Error::corrupt("an address outside the file");
  return base_ + address;
}

const std::vector<std::byte>& Hdf5File::page(std::uint64_t number) const {
  Page& page = pages_[number % kPages];
  if (page.number == number) return page.bytes;
  page.bytes.resize(std::min<std::uint64_t>(kPageBytes, size_ - number * kPageBytes));
  page.number = ~std::uint64_t{0};
  if (source_->read(number * kPageBytes, page.bytes) != page.bytes.size()) throw Error::corrupt("file became shorter");
  page.number = number;
  return page.bytes;
}

std::vector<std::byte> Hdf5File::read(std::uint64_t address, std::uint64_t length) const {
  const std::uint64_t offset = offset_of(address);
  if (length > size_ - offset) throw Error::corrupt("metadata extend past the end of the file", {.offset = offset});
  if (length + kCostOfRead > left_) throw Error::corrupt("metadata refer to themselves");
  left_ -= length + kCostOfRead;
  std::vector<std::byte> bytes(length);
  if (length > kPageBytes) {
    read_values(offset, bytes);
    apply_overlay(address, bytes);
    return bytes;
  }
  for (std::uint64_t done = 0; done < length;) {
    const std::vector<std::byte>& from = page((offset + done) / kPageBytes);
    const std::uint64_t begin = (offset + done) % kPageBytes;
    const std::uint64_t run = std::min(length - done, from.size() - begin);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(begin), run,
                bytes.begin() + static_cast<std::ptrdiff_t>(done));
    done += run;
  }
  apply_overlay(address, bytes);
  return bytes;
}

void Hdf5File::spend(std::uint64_t bytes) const {
  if (bytes > left_) throw Error::corrupt("describes more data than a file of its size can contain");
  left_ -= bytes;
}

std::vector<std::byte> Hdf5File::read_checked(std::uint64_t address, std::uint64_t length) const {
  constexpr std::size_t kChecksum = 4;
  std::vector<std::byte> bytes = read(address, length);
  if (bytes.size() < kChecksum) throw Error::corrupt("HDF5 metadata ends early");
  const auto content = std::span(bytes).first(bytes.size() - kChecksum);
  Hdf5Cursor trailer{std::span<const std::byte>(bytes).last(kChecksum), sizes_};
  if (trailer.u32() != hdf5_checksum(content) && kChecksSums)
    throw Error::corrupt("checksum of HDF5 metadata differs", {.offset = offset_of(address)});
  return bytes;
}

void Hdf5File::read_values(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (offset > size_ || bytes.size() > size_ - offset)
    throw Error::corrupt("values extend past the end of the file", {.offset = offset});
  if (source_->read(offset, bytes) != bytes.size()) throw Error::corrupt("file became shorter");
}

}  // namespace penstock
