#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <base/printable.hpp>
#include <formats/filters/deflate.hpp>
#include <formats/filters/filters.hpp>
#include <formats/filters/zstd.hpp>
#include <formats/io/hash.hpp>
#include <formats/zip/entries.hpp>
#include <formats/zip/layout.hpp>
#include <formats/zip/names.hpp>

namespace penstock {
namespace {

using namespace zip;
using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kSmallEntry = std::uint64_t{64} << 10;  // after larger entries, a header is read separately
constexpr std::uint64_t kSmallAhead = std::uint64_t{4} << 10;

struct Directory {
  std::uint64_t begin;   // offset in the file
  std::uint64_t length;  // bytes
  std::uint64_t count;   // entries
  bool count_is_whole;   // false: only its last 16 bits are known
  std::uint64_t base;    // origin of the archive's own offsets
};

std::string shown(std::string_view name) {
  constexpr std::size_t kShown = 200;
  if (name.size() > kShown) return shown(name.substr(0, kShown)) + "...";
  return is_printable(name) ? "'" + std::string(name) + "'" : "0x" + hexadecimal(name);
}

std::string method_text(std::uint16_t method) {
  static constexpr std::array<std::pair<std::uint16_t, std::string_view>, 11> kNames{{{1, "shrink"},
                                                                                      {6, "implode"},
                                                                                      {9, "deflate64"},
                                                                                      {12, "bzip2"},
                                                                                      {14, "lzma"},
                                                                                      {20, "zstd"},
                                                                                      {93, "zstd"},
                                                                                      {95, "xz"},
                                                                                      {96, "jpeg"},
                                                                                      {98, "ppmd"},
                                                                                      {99, "AES"}}};
  for (const auto& [number, name] : kNames) {
    if (number == method) return std::string(name) + " (method " + std::to_string(method) + ")";
  }
  return "method " + std::to_string(method);
}

bool is_zstd(std::uint16_t method) {
  return method == kZstd || method == kOldZstd;
}

/// Reads the end records and the central directory, then the local headers.
class ZipReader {
 public:
  explicit ZipReader(HeaderWindow& file) : file_(file) {}

  std::vector<ZipEntry> read() {
    const Directory directory = find_directory();
    std::uint64_t at = directory.begin;
    const std::uint64_t end = directory.begin + directory.length;
    std::uint64_t count = 0;
    for (; at < end; ++count) at = read_entry(directory, at, end);
    const std::uint64_t known = directory.count_is_whole ? count : count & 0xFFFF;
    if (known != directory.count) {
      throw file_.corrupt("the central directory has " + std::to_string(count) +
                              " entries, but the end record declares " + std::to_string(directory.count),
                          directory.begin);
    }
    find_data(directory);
    return std::move(entries_);
  }

  std::uint64_t stamp() {
    constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
    std::uint64_t hash = fnv1a(std::to_string(file_.size()));
    for (std::uint64_t at = find_directory().begin; at < file_.size(); at += kAtOnce)
      hash = fnv1a(text_of(file_.read(at, std::min(kAtOnce, file_.size() - at))), hash);
    return hash;
  }

 private:
  std::optional<std::uint64_t> find_end_record();
  Directory find_directory();
  Directory from_end64(std::uint64_t end_record, std::uint64_t locator);
  Directory checked(Directory directory, std::uint64_t claimed_begin, std::uint64_t behind);
  std::uint64_t read_entry(const Directory& directory, std::uint64_t at, std::uint64_t end);
  void take_sizes_in_64(Bytes extra, ZipEntry& entry, const std::array<bool, 3>& wanted);
  std::string decoded_name(Bytes raw, Bytes extra, std::uint16_t flags) const;
  void check_method(const ZipEntry& entry, std::uint16_t flags) const;
  void find_data(const Directory& directory);
  void read_local_header(ZipEntry& entry, std::uint64_t ahead);

  HeaderWindow& file_;
  std::vector<ZipEntry> entries_;
  std::vector<std::uint32_t> name_hashes_;  // of the stored names, parallel to entries_
};

// Returns the last record whose comment fits into the file.
std::optional<std::uint64_t> ZipReader::find_end_record() {
  const std::uint64_t size = file_.size();
  if (size < kEndRecord) return std::nullopt;
  const std::uint64_t begin = size - std::min(size, kEndRecord + kLongestComment);
  const Bytes tail = file_.read(begin, size - begin);
  for (std::size_t at = tail.size() - kEndRecord + 1; at-- > 0;) {
    if (little_endian<std::uint32_t>(tail, at) != kEndSignature) continue;
    if (little_endian<std::uint16_t>(tail, at + 20) <= tail.size() - at - kEndRecord) return begin + at;
  }
  return std::nullopt;
}

Directory ZipReader::find_directory() {
  const std::optional<std::uint64_t> end = find_end_record();
  if (!end) throw file_.corrupt("not a zip archive: it has no end of central directory, or is cut off", 0);
  if (*end >= kLocator64 &&
      little_endian<std::uint32_t>(file_.read(*end - kLocator64, kLocator64), 0) == kLocator64Signature) {
    return from_end64(*end, *end - kLocator64);
  }
  const Bytes record = file_.read(*end, kEndRecord);
  const auto disk = little_endian<std::uint16_t>(record, 4), first_disk = little_endian<std::uint16_t>(record, 6);
  const auto here = little_endian<std::uint16_t>(record, 8), count = little_endian<std::uint16_t>(record, 10);
  if (disk != 0 || first_disk != 0 || here != count) {
    throw file_.unsupported("a zip archive of several disks: join its parts (zip -s 0)", *end);
  }
  return checked({.begin = 0,
                  .length = little_endian<std::uint32_t>(record, 12),
                  .count = count,
                  .count_is_whole = false,
                  .base = 0},
                 little_endian<std::uint32_t>(record, 16), *end);
}

Directory ZipReader::from_end64(std::uint64_t end_record, std::uint64_t locator) {
  const Bytes found = file_.read(locator, kLocator64);
  const auto disk = little_endian<std::uint32_t>(found, 4), disks = little_endian<std::uint32_t>(found, 16);
  auto at = little_endian<std::uint64_t>(found, 8);
  if (disk != 0 || disks > 1) throw file_.unsupported("a zip archive of several disks: join its parts", end_record);
  const auto is_record = [&](std::uint64_t offset) {
    return offset <= locator && locator - offset >= kEnd64Record &&
           little_endian<std::uint32_t>(file_.read(offset, kEnd64Record), 0) == kEnd64Signature;
  };
  // If bytes precede the archive, the locator's offset is wrong. The record is then directly before the locator.
  if (!is_record(at) && locator >= kEnd64Record) at = locator - kEnd64Record;
  if (!is_record(at)) throw file_.corrupt("the zip64 locator does not lead to the zip64 end record", locator);
  const Bytes record = file_.read(at, kEnd64Record);
  const auto here = little_endian<std::uint64_t>(record, 24), count = little_endian<std::uint64_t>(record, 32);
  if (little_endian<std::uint32_t>(record, 16) != 0 || little_endian<std::uint32_t>(record, 20) != 0 || here != count) {
    throw file_.unsupported("a zip archive of several disks: join its parts", at);
  }
  return checked({.begin = 0,
                  .length = little_endian<std::uint64_t>(record, 40),
                  .count = count,
                  .count_is_whole = true,
                  .base = 0},
                 little_endian<std::uint64_t>(record, 48), at);
}

// The directory ends at the next record. The difference to the offset in the archive is the number of bytes before the
// archive.
Directory ZipReader::checked(Directory directory, std::uint64_t claimed_begin, std::uint64_t behind) {
  if (directory.length > behind || claimed_begin > behind - directory.length) {
    throw file_.corrupt("the central directory of " + std::to_string(directory.length) + " bytes at " +
                            std::to_string(claimed_begin) + " is not before its end record",
                        behind);
  }
  directory.begin = behind - directory.length;
  directory.base = directory.begin - claimed_begin;
  return directory;
}

std::uint64_t ZipReader::read_entry(const Directory& directory, std::uint64_t at, std::uint64_t end) {
  if (end - at < kCentralHeader) throw file_.corrupt("the central directory ends inside an entry", at);
  const Bytes fixed = file_.read(at, kCentralHeader);
  if (little_endian<std::uint32_t>(fixed, 0) != kCentralSignature) {
    throw file_.corrupt("expected an entry of the central directory here", at);
  }
  const std::size_t name_length = little_endian<std::uint16_t>(fixed, 28);
  const std::size_t extra_length = little_endian<std::uint16_t>(fixed, 30);
  const std::size_t length = kCentralHeader + name_length + extra_length + little_endian<std::uint16_t>(fixed, 32);
  if (length > end - at) throw file_.corrupt("the central directory ends inside an entry", at);
  const Bytes bytes = file_.read(at, length);
  const Bytes raw = bytes.subspan(kCentralHeader, name_length);
  const Bytes extra = bytes.subspan(kCentralHeader + name_length, extra_length);

  ZipEntry entry;
  entry.central = at;
  const auto flags = little_endian<std::uint16_t>(bytes, 8);
  entry.method = little_endian<std::uint16_t>(bytes, 10);
  entry.crc32 = little_endian<std::uint32_t>(bytes, 16);
  entry.stored = little_endian<std::uint32_t>(bytes, 20);
  entry.plain = little_endian<std::uint32_t>(bytes, 24);
  entry.header = little_endian<std::uint32_t>(bytes, 42);
  take_sizes_in_64(extra, entry, {entry.plain == kIn64, entry.stored == kIn64, entry.header == kIn64});

  const bool made_by_unix = little_endian<std::uint16_t>(bytes, 4) >> 8 == kMadeByUnix;
  const std::uint32_t type = little_endian<std::uint32_t>(bytes, 38) >> 16 & kModeType;
  std::string whole = decoded_name(raw, extra, flags);
  // APPNOTE 4.4.17 requires slashes, but some programs for Windows write backslashes. On Unix they can be part of
  // names.
  if (!made_by_unix) std::ranges::replace(whole, '\\', '/');
  std::string_view name = without_leading_dots(whole);
  entry.is_folder = name.ends_with('/') || name.ends_with('\\');
  while (name.ends_with('/') || name.ends_with('\\')) name.remove_suffix(1);
  const bool is_file = !made_by_unix || type == 0 || type == kModeFile;
  if (name.empty() || is_hidden_in_archive(name) || (!entry.is_folder && !is_file)) return at + length;
  entry.name = name;
  if (!entry.is_folder) {
    check_method(entry, flags);
    if (entry.header > directory.begin - directory.base) {
      throw file_.corrupt("the entry " + shown(name) + " is not before the central directory", at);
    }
    entry.header += directory.base;
  }
  entries_.push_back(std::move(entry));
  name_hashes_.push_back(penstock::crc32(raw));
  return at + length;
}

// The extra field contains the plain size, the stored size and the offset, in this order, but only those that did not
// fit.
void ZipReader::take_sizes_in_64(Bytes extra, ZipEntry& entry, const std::array<bool, 3>& wanted) {
  if (!wanted[0] && !wanted[1] && !wanted[2]) return;
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::size_t length = little_endian<std::uint16_t>(extra, at + 2);
    if (length > extra.size() - at - 4) break;
    Bytes field = extra.subspan(at + 4, length);
    at += 4 + length;
    if (little_endian<std::uint16_t>(extra, at - length - 4) != kZip64Extra) continue;
    std::uint64_t* values[]{&entry.plain, &entry.stored, &entry.header};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!wanted[i]) continue;
      if (field.size() < 8) throw file_.corrupt("the zip64 field of an entry is too short", entry.central);
      *values[i] = little_endian<std::uint64_t>(field, 0);
      field = field.subspan(8);
    }
    return;
  }
  // Without the field the numbers are literal: 4294967295.
}

std::string ZipReader::decoded_name(Bytes raw, Bytes extra, std::uint16_t flags) const {
  const std::string_view name = text_of(raw);
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
  if (ascii || (flags & kUtf8) != 0) return std::string(name);
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::size_t length = little_endian<std::uint16_t>(extra, at + 2);
    if (length > extra.size() - at - 4) break;
    const Bytes field = extra.subspan(at + 4, length);
    const bool unicode = little_endian<std::uint16_t>(extra, at) == kUnicodePathExtra;
    at += 4 + length;
    if (!unicode || length < 5 || field[0] != std::byte{1}) continue;
    if (little_endian<std::uint32_t>(field, 1) == penstock::crc32(raw)) return std::string(text_of(field.subspan(5)));
  }
  return utf8_from_cp437(name);
}

void ZipReader::check_method(const ZipEntry& entry, std::uint16_t flags) const {
  const std::string name = "the entry " + shown(entry.name);
  if ((flags & kEncrypted) != 0) throw file_.unsupported(name + " is encrypted", entry.central);
  if (is_zstd(entry.method) && !zstd_is_linked()) {
    throw file_.unsupported(name + " is compressed by zstd: " + std::string(kZstdIsAbsent), entry.central);
  }
  if (entry.method != kStored && entry.method != kDeflate && !is_zstd(entry.method)) {
    throw file_.unsupported(name + " is compressed by " + method_text(entry.method) +
                                ": store or deflate it (supported: stored, deflate and zstd)",
                            entry.central);
  }
  if (entry.method == kStored && entry.stored != entry.plain) {
    throw file_.corrupt(name + " is stored, but has the sizes " + std::to_string(entry.stored) + " and " +
                            std::to_string(entry.plain) + " bytes",
                        entry.central);
  }
  if (entry.plain > longest_decoded(entry.stored, block_of(entry, 0).filters)) {
    throw file_.corrupt(name + " declares " + std::to_string(entry.plain) + " bytes, more than its " +
                            std::to_string(entry.stored) + " stored bytes can contain",
                        entry.central);
  }
}

// In the order of the file: one read covers neighbouring headers, and the next entry reveals an overlap.
void ZipReader::find_data(const Directory& directory) {
  std::vector<std::size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return entries_[i].is_folder; });
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return entries_[a].header < entries_[b].header; });
  std::uint64_t end = 0;
  bool small = true;
  for (const std::size_t i : order) {
    ZipEntry& entry = entries_[i];
    if (entry.header < end) {
      throw file_.corrupt("the entry " + shown(entry.name) + " overlaps the one before it", entry.header);
    }
    read_local_header(entry, small ? HeaderWindow::kAhead : kSmallAhead);
    const Bytes raw = file_.read(entry.header + kLocalHeader,
                                 little_endian<std::uint16_t>(file_.read(entry.header, kLocalHeader), 26));
    if (penstock::crc32(raw) != name_hashes_[i]) {
      throw file_.corrupt("the local header of " + shown(entry.name) + " has another name", entry.header);
    }
    if (entry.data > directory.begin || entry.stored > directory.begin - entry.data) {
      throw file_.corrupt("the entry " + shown(entry.name) + " of " + std::to_string(entry.stored) +
                              " bytes runs into the central directory",
                          entry.header);
    }
    end = entry.data + entry.stored;
    small = entry.stored <= kSmallEntry;
  }
}

void ZipReader::read_local_header(ZipEntry& entry, std::uint64_t ahead) {
  const Bytes header = file_.read(entry.header, kLocalHeader, ahead);
  if (little_endian<std::uint32_t>(header, 0) != kLocalSignature) {
    throw file_.corrupt("no local header of " + shown(entry.name) + " at the offset in the central directory",
                        entry.header);
  }
  if (little_endian<std::uint16_t>(header, 8) != entry.method) {
    throw file_.corrupt("the local header of " + shown(entry.name) + " has another method", entry.header);
  }
  entry.data =
      entry.header + kLocalHeader + little_endian<std::uint16_t>(header, 26) + little_endian<std::uint16_t>(header, 28);
}

}  // namespace

std::vector<ZipEntry> read_zip_entries(HeaderWindow& file) {
  return ZipReader(file).read();
}

std::uint64_t zip_stamp(HeaderWindow& file) {
  return ZipReader(file).stamp();
}

bool zip_proves(const std::filesystem::path& shard, const Index& index, const OpenProgress&) {
  HeaderWindow file(shard, shard.filename().string());
  if (index.file_count() != 1 || index.file(0).size != file.size()) return false;
  try {
    return zip_stamp(file) == index.file(0).stamp;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) throw;
    return false;  // indexing reports the reason
  }
}

bool is_stored(const ZipEntry& entry) {
  return entry.method == kStored;
}

Block block_of(const ZipEntry& entry, std::uint32_t file) {
  Block block{.extent = {.file = file, .offset = entry.data, .length = entry.stored},
              .filters = {{Filter::Id::crc32, entry.crc32}},
              .decoded_length = entry.plain};
  if (entry.method == kDeflate) block.filters.push_back({Filter::Id::raw_deflate, 0});
  if (is_zstd(entry.method)) block.filters.push_back({Filter::Id::zstd, 0});
  return block;
}

bool ends_as_zip(const std::filesystem::path& path) {
  HeaderWindow file(path, path.filename().string());
  if (file.size() < kEndRecord) return false;
  const std::uint64_t begin = file.size() - std::min(file.size(), kEndRecord + kLongestComment);
  return text_of(file.read(begin, file.size() - begin)).find("PK\5\6") != std::string_view::npos;
}

}  // namespace penstock
