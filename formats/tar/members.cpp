#include <algorithm>
#include <array>
#include <utility>

#include <base/printable.hpp>
#include <formats/tar/header.hpp>
#include <formats/tar/members.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLargestExtension = std::uint64_t{8} << 20;  // bytes of a long name or of pax records
constexpr std::uint64_t kSmallMember = std::uint64_t{64} << 10;  // after larger members, a header is read separately
constexpr std::uint64_t kWindow = std::uint64_t{256} << 10, kSmallWindow = std::uint64_t{4} << 10;

struct Compression {
  std::string_view magic, name, undo;
};
constexpr std::array kCompressions{Compression{{"\x1F\x8B", 2}, "gzip", "gzip -d"},
                                   Compression{{"\x28\xB5\x2F\xFD", 4}, "zstd", "zstd -d"},
                                   Compression{{"\xFD"
                                                "7zXZ\0",
                                                6},
                                               "xz",
                                               "xz -d"},
                                   Compression{{"BZh", 3}, "bzip2", "bzip2 -d"},
                                   Compression{{"\x04\x22\x4D\x18", 4}, "lz4", "lz4 -d"},
                                   Compression{{"\x1F\x9D", 2}, "compress", "gzip -d"}};

bool is_extension(char type) {
  return type == 'x' || type == 'X' || type == 'g' || type == 'L' || type == 'K';
}

/// Links, devices, directories and pipes have no data, even if their size field is not 0.
bool has_no_data(char type) {
  return type >= '1' && type <= '6';
}

/// Formats a name for a message of one line.
std::string in_quotes(std::string_view name) {
  constexpr std::size_t kShown = 200;
  if (name.size() > kShown) return in_quotes(name.substr(0, kShown)) + "...";
  return is_printable(name) ? "'" + std::string(name) + "'" : "0x" + hexadecimal(name);
}

}  // namespace

/// The content of the extension headers before a member.
struct TarMembers::Overrides {
  PaxRecords pax;
  std::optional<std::string> long_name = {}, long_link = {};
  bool any = false;
};

TarMembers::TarMembers(const std::filesystem::path& path, std::string shard) : file_(path, std::move(shard)) {
  if (size() == 0) throw file_.corrupt("the archive is empty", 0);
  const std::string_view start = bytes_at(0, std::min<std::uint64_t>(size(), kTarBlock));
  if (start.size() == kTarBlock && tar_checksum_matches(start)) return;
  for (const Compression& known : kCompressions) {
    if (!start.starts_with(known.magic)) continue;
    const std::string packed = known.name == "gzip" ? "pack it (penstock pack, in Python ps.pack), or " : "";
    throw file_.unsupported("the archive is compressed as a whole (" + std::string(known.name) +
                                "), so its samples cannot be read in random order: " + packed + "decompress it (" +
                                std::string(known.undo) + ") and compress single members instead, if at all",
                            0);
  }
}

/// The caller must check that [offset, offset + length) is inside the file. Valid until the next call.
std::string_view TarMembers::bytes_at(std::uint64_t offset, std::uint64_t length) {
  return text_of(file_.read(offset, length, last_data_ > kSmallMember ? kSmallWindow : kWindow));
}

/// Returns nothing at the end of the file.
std::optional<std::string_view> TarMembers::header_at(std::uint64_t offset) {
  if (offset == size()) return std::nullopt;
  if (size() - offset < kTarBlock) throw file_.corrupt("the archive ends inside a header", offset);
  return bytes_at(offset, kTarBlock);
}

std::string_view TarMembers::extension_body(std::uint64_t header, std::uint64_t size) {
  if (size > kLargestExtension)
    throw file_.unsupported("an extended header of " + std::to_string(size) + " bytes", header);
  const std::uint64_t data = header + kTarBlock;
  if (tar_padded(size) > file_.size() - data) throw file_.corrupt("the archive ends inside an extended header", header);
  next_ = data + tar_padded(size);
  return bytes_at(data, size);
}

// Concatenated archives (cat a.tar b.tar) have two or more zero blocks between them. Like tar --ignore-zeros, this
// continues after the zero blocks and finds all members. Stopping there would silently lose the later ones.
bool TarMembers::skip_zeros(std::uint64_t begin) {
  std::uint64_t at = begin;
  while (at != size()) {
    const std::string_view block = bytes_at(at, std::min<std::uint64_t>(kTarBlock, size() - at));
    if (block.find_first_not_of('\0') == std::string_view::npos) {
      at += block.size();
      continue;
    }
    if (block.size() < kTarBlock || !tar_checksum_matches(block)) {
      after_end_ = at;
      return false;
    }
    // Some readers stop at a single zero block and others continue, so members after it would depend on the reader.
    if (at - begin < 2 * kTarBlock) throw file_.corrupt("a lone block of zeros between members", begin);
    global_ = {};  // global records are valid until the end of their archive
    next_ = at;
    return true;
  }
  return false;
}

bool TarMembers::next(TarMember& member) {
  Overrides overrides{.pax = global_};
  for (;;) {
    const std::uint64_t offset = next_;
    const std::optional<std::string_view> block = header_at(offset);
    if (!block || is_zero_block(*block)) {
      if (overrides.any) throw file_.corrupt("the archive ends after an extended header", offset);
      if (!block || !skip_zeros(offset)) return false;
      overrides = {.pax = global_};
      continue;
    }
    if (!tar_checksum_matches(*block)) throw file_.corrupt("no tar header here: its checksum is wrong", offset);
    try {
      TarHeader header = read_tar_header(*block);
      if (!is_extension(header.type)) {
        member = {.name = std::move(header.name),
                  .type = header.type,
                  .link_name = std::move(header.link_name),
                  .header = offset,
                  .data = offset + kTarBlock,
                  .size = header.size};
        complete(member, std::move(overrides));
        return true;
      }
      const std::string_view body = extension_body(offset, header.size);
      if (header.type == 'L') {
        overrides.long_name = std::string(body.substr(0, body.find('\0')));
      } else if (header.type == 'K') {
        overrides.long_link = std::string(body.substr(0, body.find('\0')));
      } else {
        if (header.type == 'g') read_pax(body, global_);
        read_pax(body, overrides.pax);
      }
      overrides.any = overrides.any || header.type != 'g';
    } catch (const Error& error) {
      throw error.in({.shard = file_.shard(), .offset = offset});
    }
  }
}

void TarMembers::complete(TarMember& member, Overrides&& overrides) {
  if (overrides.long_name) member.name = std::move(*overrides.long_name);
  if (overrides.long_link) member.link_name = std::move(*overrides.long_link);
  if (overrides.pax.path) member.name = std::move(*overrides.pax.path);
  if (overrides.pax.link_path) member.link_name = std::move(*overrides.pax.link_path);
  if (overrides.pax.size) member.size = *overrides.pax.size;
  if (member.type == 'S' || overrides.pax.sparse) {
    throw file_.unsupported("the member " + in_quotes(member.name) + " is sparse: pack it again without --sparse",
                            member.header);
  }
  if (member.type == 'M') {
    throw file_.unsupported("the member " + in_quotes(member.name) + " continues a member of another volume",
                            member.header);
  }
  if (member.type == '\0' && member.name.ends_with('/')) member.type = '5';  // v7 wrote directories this way
  if (member.type == '\0' || member.type == '7') member.type = '0';
  if (has_no_data(member.type)) member.size = 0;
  const std::uint64_t there = size() - member.data;  // includes padding: a file without it was truncated
  if (member.size > there || tar_padded(member.size) > there) {
    throw file_.corrupt("the archive is cut off: the member " + in_quotes(member.name) + " of " +
                            std::to_string(member.size) + " bytes has " + std::to_string(there) + " left",
                        member.header);
  }
  last_data_ = member.size;
  next_ = member.data + tar_padded(member.size);
}

}  // namespace penstock
