#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include <formats/io/checks_sums.hpp>
#include <formats/tar/header.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kNameLength = 100, kPrefixLength = 155;

struct Part {
  std::size_t offset, length;
};
constexpr Part kName{0, kNameLength}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12}, kMtime{136, 12},
    kChecksum{148, 8}, kLink{157, 100}, kMagic{257, 8}, kPrefix{345, kPrefixLength};
constexpr std::size_t kType = 156;

std::string_view part(std::string_view block, Part where) {
  return block.substr(where.offset, where.length);
}

std::string_view text(std::string_view block, Part where) {
  const std::string_view bytes = part(block, where);
  return bytes.substr(0, bytes.find('\0'));
}

std::optional<std::uint64_t> base256(std::string_view bytes) {
  constexpr unsigned kSignBit = 0x40;
  std::uint64_t value = static_cast<unsigned char>(bytes[0]) & 0x7FU;
  if ((value & kSignBit) != 0) return std::nullopt;  // negative
  for (const char c : bytes.substr(1)) {
    if (value > (std::numeric_limits<std::uint64_t>::max() >> 9)) return std::nullopt;
    value = value << 8 | static_cast<unsigned char>(c);
  }
  return value;
}

std::optional<std::uint64_t> octal(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(' ');
  if (first == std::string_view::npos) return 0;
  std::uint64_t value = 0;
  for (const char c : bytes.substr(first)) {
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    value = value << 3 | static_cast<std::uint64_t>(c - '0');  // twelve digits: 36 bits
  }
  return value;
}

std::optional<std::uint64_t> number(std::string_view bytes) {
  return (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0 ? base256(bytes) : octal(bytes);
}

void put(std::string& block, Part where, std::string_view value) {
  block.replace(where.offset, value.size(), value);
}

void put_octal(std::string& block, Part where, std::uint64_t value) {
  std::string digits(where.length - 1, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend() && value != 0; ++digit, value >>= 3) {
    *digit = static_cast<char>('0' + (value & 7));
  }
  put(block, where, digits);
}

// Sums eight bytes at a time: bytes at even and at odd positions, in four sums of 16 bits each.
std::uint64_t unsigned_sum(std::string_view block) {
  static_assert(kTarBlock % 8 == 0 && kTarBlock / 4 * 255 <= 0xFFFF);
  constexpr std::uint64_t kEven = 0x00FF00FF00FF00FF;
  std::uint64_t sums = 0;
  for (std::size_t at = 0; at < kTarBlock; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, block.data() + at, sizeof word);
    sums += (word & kEven) + ((word >> 8) & kEven);
  }
  std::uint64_t sum = 0;
  for (; sums != 0; sums >>= 16) sum += sums & 0xFFFF;
  for (const char c : part(block, kChecksum)) sum -= static_cast<unsigned char>(c);
  return sum + kChecksum.length * ' ';
}

std::uint64_t signed_sum(std::string_view block) {
  std::int64_t sum = 0;
  for (const char c : block) sum += static_cast<signed char>(c);
  for (const char c : part(block, kChecksum)) sum -= static_cast<signed char>(c);
  return static_cast<std::uint64_t>(sum + std::int64_t{kChecksum.length} * ' ');
}

/// Returns where to split `name` into prefix and name: the slash's position, 0 if the whole name fits, npos if it does
/// not fit.
std::size_t prefix_length(std::string_view name) {
  if (name.size() <= kNameLength) return 0;
  const std::size_t slash = name.find('/', name.size() - std::min(name.size(), kNameLength + 1));
  if (slash == 0 || slash > kPrefixLength || slash + 1 >= name.size()) return std::string_view::npos;
  return slash;
}

}  // namespace

bool is_zero_block(std::string_view block) {
  return block.find_first_not_of('\0') == std::string_view::npos;
}

bool tar_checksum_matches(std::string_view block) {
  if (is_zero_block(block)) return false;
  const std::optional<std::uint64_t> stored = octal(part(block, kChecksum));
  return stored && (*stored == unsigned_sum(block) || *stored == signed_sum(block) || !kChecksSums);
}

TarHeader read_tar_header(std::string_view block) {
  TarHeader header{.name = std::string(text(block, kName)), .link_name = std::string(text(block, kLink))};
  header.type = block[kType];
  const std::optional<std::uint64_t> size = number(part(block, kSize));
  if (!size) throw Error::corrupt("a header without a valid size");
  header.size = *size;
  if (part(block, kMagic).substr(0, 6) == std::string_view("ustar\0", 6)) {
    constexpr Part kStarPrefix{345, 131}, kStarMark{508, 4};  // star stores times after a shorter prefix
    const bool star = part(block, kStarMark) == std::string_view("tar\0", 4);
    const std::string_view prefix = text(block, star ? kStarPrefix : kPrefix);
    if (!prefix.empty()) header.name = std::string(prefix).append("/").append(header.name);
  }
  return header;
}

bool fits_ustar(std::string_view name) {
  const auto ascii = [](char c) { return c > 0x1F && c < 0x7F; };
  return std::all_of(name.begin(), name.end(), ascii) && prefix_length(name) != std::string_view::npos;
}

std::string write_tar_header(std::string_view name, char type, std::uint64_t size) {
  std::string block(kTarBlock, '\0');
  const std::size_t cut = prefix_length(name);
  if (cut == std::string_view::npos || cut == 0) {
    put(block, kName, name.substr(0, kNameLength));
  } else {
    put(block, kPrefix, name.substr(0, cut));
    put(block, kName, name.substr(cut + 1));
  }
  put_octal(block, kMode, 0644);
  put_octal(block, kUid, 0);
  put_octal(block, kGid, 0);
  put_octal(block, kSize, size > kUstarMaxSize ? 0 : size);
  put_octal(block, kMtime, 0);
  block[kType] = type;
  put(block, kMagic, std::string_view("ustar\00000", 8));
  put_octal(block, {kChecksum.offset, kChecksum.length - 1}, unsigned_sum(block));
  block[kChecksum.offset + kChecksum.length - 1] = ' ';  // six digits, NUL, blank
  return block;
}

}  // namespace penstock
