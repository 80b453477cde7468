#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <base/numbers/load.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/las_header.hpp>

namespace penstock {
namespace {

constexpr std::size_t kVlrHeader = 54;
constexpr std::uint32_t kRecordedVersion = 1;
constexpr std::size_t kRecordedHead = 16;  // version, 0, head_bytes

// A variable length record: 2 reserved, user id (16), record id u16, length u16, description (32).
struct Vlr {
  std::string_view user;
  std::uint16_t id;
  std::uint64_t begin, end;  // [begin, end) in the file, with the record's header
  bool names_extra_bytes() const { return user == "LASF_Spec" && id == 4; }
  bool tells_compression() const { return user == "laszip encoded" && id == 22204; }
};

// Calls `found` for the first VLR of each kind that describes the layout of records, if the file needs that kind.
// Returns false if the bytes end before all of them were found.
template <class Found>
bool find_vlrs(std::span<const std::byte> bytes, LasHeader& header, std::uint64_t first, std::uint32_t count,
               Found found) {
  std::uint64_t at = first;
  // Kinds of VLR that are still missing.
  bool compression = header.compressed, extra = header.record_bytes > las_record_bytes(header.format);
  for (std::uint32_t i = 0; i < count && (compression || extra); ++i) {
    if (at + kVlrHeader > header.data_begin) break;  // the count is wrong
    if (at + kVlrHeader > bytes.size()) return false;
    const char* name = reinterpret_cast<const char*>(bytes.data() + at + 2);
    Vlr vlr{.user = {name, strnlen(name, 16)}, .id = load<std::uint16_t>(bytes, at + 18), .begin = at, .end = 0};
    vlr.end = at + kVlrHeader + load<std::uint16_t>(bytes, at + 20);
    if (vlr.end > header.data_begin) {
      throw Error::corrupt("las: variable length record " + std::to_string(i) + " ends at byte " +
                           std::to_string(vlr.end) + ", after the first point at " + std::to_string(header.data_begin));
    }
    bool& wanted = vlr.tells_compression() ? compression : extra;
    if (wanted && (vlr.tells_compression() || vlr.names_extra_bytes())) {
      if (vlr.end > bytes.size()) return false;
      found(vlr, bytes.subspan(at + kVlrHeader, vlr.end - at - kVlrHeader));
      wanted = false;
    }
    at = vlr.end;
  }
  header.head_bytes = std::max(header.head_bytes, at);
  return true;
}

std::size_t header_bytes(unsigned minor) {
  return minor >= 4 ? 375 : minor == 3 ? 235 : 227;
}

std::uint64_t point_count(std::span<const std::byte> bytes, unsigned minor) {
  const std::uint64_t count = minor >= 4 ? load<std::uint64_t>(bytes, 247) : 0;
  return count != 0 ? count : load<std::uint32_t>(bytes, 107);
}

bool are_plausible_bounds(const LasHeader& header, std::size_t axis) {
  const double lower = header.lower[axis], upper = header.upper[axis], step = std::abs(header.scale[axis]);
  return std::isfinite(lower) && std::isfinite(upper) && lower <= upper &&
         std::abs(lower - header.offset[axis]) <= std::ldexp(step, 31) + step;
}

void read_axes(std::span<const std::byte> bytes, LasHeader& header) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    header.scale[axis] = load<double>(bytes, 131 + 8 * axis);
    header.offset[axis] = load<double>(bytes, 155 + 8 * axis);
    if (!std::isfinite(header.scale[axis]) || !std::isfinite(header.offset[axis])) {
      throw Error::corrupt("las: scale and offset are not finite");
    }
    header.upper[axis] = load<double>(bytes, 179 + 16 * axis);
    header.lower[axis] = load<double>(bytes, 187 + 16 * axis);
    header.origin[axis] = are_plausible_bounds(header, axis) ? header.lower[axis] : header.offset[axis];
  }
}

std::string version_text(unsigned major, unsigned minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

// Reads everything except VLRs. Returns false if the bytes end too early.
bool read_public_header(std::span<const std::byte> bytes, LasHeader& header) {
  if (bytes.size() < 4 || std::memcmp(bytes.data(), "LASF", 4) != 0)
    throw Error::corrupt("las: does not begin with LASF");
  if (bytes.size() < 227) return false;
  const auto major = load<std::uint8_t>(bytes, 24), minor = load<std::uint8_t>(bytes, 25);
  if (major != 1 || minor > 4) throw Error::unsupported("las: version " + version_text(major, minor));
  header.head_bytes = header_bytes(minor);
  if (bytes.size() < header.head_bytes) return false;
  const auto size = load<std::uint16_t>(bytes, 94);
  header.data_begin = load<std::uint32_t>(bytes, 96);
  if (size < header.head_bytes || header.data_begin < size) {
    throw Error::corrupt("las: invalid header of " + std::to_string(size) + " bytes with points from byte " +
                         std::to_string(header.data_begin) + ", in version " + version_text(major, minor));
  }
  const auto format = load<std::uint8_t>(bytes, 104);
  header.format = format & 0x3F;
  header.compressed = (format & 0x80) != 0;
  if (header.format > 10 || (format & 0x40) != 0) {
    throw Error::unsupported("las: point format " + std::to_string(format));
  }
  header.record_bytes = load<std::uint16_t>(bytes, 105);
  if (header.record_bytes < las_record_bytes(header.format)) {
    throw Error::corrupt("las: records of " + std::to_string(header.record_bytes) + " bytes cannot have format " +
                         std::to_string(header.format));
  }
  header.points = point_count(bytes, minor);
  read_axes(bytes, header);
  return true;
}

}  // namespace

bool is_laz(std::span<const std::byte> bytes) {
  return bytes.size() > 104 && std::memcmp(bytes.data(), "LASF", 4) == 0 &&
         (bytes[104] & std::byte{0x80}) != std::byte{};
}

bool is_las(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "LASF", 4) == 0 && !is_laz(bytes);
}

std::optional<LasHeader> read_las_header(std::span<const std::byte> bytes) {
  LasHeader header;
  if (!read_public_header(bytes, header)) return std::nullopt;
  std::span<const std::byte> extra;
  const bool found = find_vlrs(bytes, header, load<std::uint16_t>(bytes, 94), load<std::uint32_t>(bytes, 100),
                               [&](const Vlr& vlr, std::span<const std::byte> payload) {
                                 if (vlr.names_extra_bytes()) {
                                   extra = payload;
                                 } else {
                                   header.laszip.assign(payload.begin(), payload.end());
                                 }
                               });
  if (!found) return std::nullopt;
  header.attributes = las_attributes(header.format, header.record_bytes, extra);
  return header;
}

void check_las_points(const LasHeader& header, std::uint64_t length) {
  const std::uint64_t held = length > header.data_begin ? (length - header.data_begin) / header.record_bytes : 0;
  if (header.points > held) {
    throw Error::corrupt("las: the header counts " + std::to_string(header.points) + " points, but the file contains " +
                         std::to_string(held));
  }
}

LasHeader read_las_file(std::span<const std::byte> bytes, std::uint64_t length) {
  std::optional<LasHeader> header = read_las_header(bytes);
  if (!header || header->data_begin > length) throw Error::corrupt("las: ends within the header");
  if (!header->compressed) check_las_points(*header, length);
  return *std::move(header);
}

void move_origin(LasHeader& header, std::span<const std::byte> record) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double step = std::abs(header.scale[axis]);
    const double first = load<std::int32_t>(record, 4 * axis) * header.scale[axis] + header.offset[axis];
    const bool inside =
        are_plausible_bounds(header, axis) && first >= header.lower[axis] - step && first <= header.upper[axis] + step;
    if (!inside && std::abs(first - header.origin[axis]) > std::ldexp(step, 23)) {
      header.origin[axis] = std::floor(first);
    }
  }
}

std::vector<std::byte> recorded_las_header(std::span<const std::byte> bytes) {
  if (!is_las(bytes) && !is_laz(bytes)) return {};
  LasHeader header;
  if (!read_public_header(bytes, header)) return {};
  const std::size_t fixed = header.head_bytes;
  std::vector<std::byte> recorded(kRecordedHead + fixed);
  std::copy_n(bytes.begin(), fixed, recorded.begin() + kRecordedHead);
  std::uint32_t kept = 0;
  const bool found = find_vlrs(bytes, header, load<std::uint16_t>(bytes, 94), load<std::uint32_t>(bytes, 100),
                               [&](const Vlr& vlr, std::span<const std::byte>) {
                                 const auto whole = bytes.subspan(vlr.begin, vlr.end - vlr.begin);
                                 recorded.insert(recorded.end(), whole.begin(), whole.end());
                                 ++kept;
                               });
  if (!found) return {};
  const auto size = static_cast<std::uint16_t>(fixed);
  std::memcpy(recorded.data(), &kRecordedVersion, 4);
  std::memcpy(recorded.data() + 8, &header.head_bytes, 8);
  std::memcpy(recorded.data() + kRecordedHead + 94, &size, 2);
  std::memcpy(recorded.data() + kRecordedHead + 100, &kept, 4);
  return recorded;
}

std::optional<LasHeader> read_recorded_las_header(std::span<const std::byte> recorded) {
  if (recorded.size() < kRecordedHead || load<std::uint32_t>(recorded, 0) != kRecordedVersion) return std::nullopt;
  std::optional<LasHeader> header = read_las_header(recorded.subspan(kRecordedHead));
  if (header) header->head_bytes = load<std::uint64_t>(recorded, 8);
  return header;
}

CloudHeader cloud_header(const LasHeader& header) {
  CloudHeader cloud{.points = header.points, .origin = header.origin};
  for (const LasAttribute& attribute : header.attributes) cloud.attributes.push_back(attribute.delivered);
  return cloud;
}

}  // namespace penstock
