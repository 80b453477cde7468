// Makes small LAS files of any version and point format, byte by byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <transforms/clouds/codecs/las_header.hpp>

namespace penstock::test {

struct LasFile {
  unsigned minor = 2, format = 0;
  std::size_t points = 10;
  std::size_t extra_bytes = 0;  ///< of each record, behind those of the format
  std::string extra_vlr = {};   ///< content of VLR LASF_Spec/4; none where empty
  std::size_t other_vlr = 0;    ///< length of a VLR before it that says nothing of records; none where 0
  std::array<double, 3> scale{0.01, 0.01, 0.001}, offset{500000, 5900000, 0};
  std::array<double, 3> lower{499990, 5899990, -10}, upper{500010, 5900010, 10};
  std::string behind = {};  ///< bytes behind the records

  std::size_t record_bytes() const { return las_record_bytes(format) + extra_bytes; }
  std::size_t header_bytes() const { return minor >= 4 ? 375 : minor == 3 ? 235 : 227; }
};

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// One record of VLR LASF_Spec/4; options as the standard counts them: 8 has a scale, 16 an offset.
inline std::string extra_record(std::uint8_t type, std::uint8_t options, std::string_view name, double scale = 0,
                                double offset = 0) {
  std::string record(192, '\0');
  record[2] = static_cast<char>(type);
  record[3] = static_cast<char>(options);
  record.replace(4, name.size(), name);
  for (std::size_t i = 0; i < 3; ++i) {
    std::memcpy(record.data() + 112 + 8 * i, &scale, 8);
    std::memcpy(record.data() + 136 + 8 * i, &offset, 8);
  }
  return record;
}

inline void append_vlr(std::vector<std::byte>& bytes, std::string_view user, std::uint16_t id,
                       std::string_view content) {
  const std::size_t at = bytes.size();
  bytes.resize(at + 54 + content.size());
  std::memcpy(bytes.data() + at + 2, user.data(), user.size());
  put(bytes, at + 18, id);
  put(bytes, at + 20, static_cast<std::uint16_t>(content.size()));
  std::memcpy(bytes.data() + at + 54, content.data(), content.size());
}

/// The records are random, but for X, Y and Z of point i: within 10 units of the offset.
inline std::vector<std::byte> las_file(const LasFile& file) {
  std::vector<std::byte> bytes(file.header_bytes());
  std::uint32_t vlrs = 0;
  if (file.other_vlr > 0) append_vlr(bytes, "LASF_Projection", 2112, std::string(file.other_vlr, ' ')), ++vlrs;
  if (!file.extra_vlr.empty()) append_vlr(bytes, "LASF_Spec", 4, file.extra_vlr), ++vlrs;
  std::memcpy(bytes.data(), "LASF", 4);
  put(bytes, 24, std::uint8_t{1});
  put(bytes, 25, static_cast<std::uint8_t>(file.minor));
  put(bytes, 94, static_cast<std::uint16_t>(file.header_bytes()));
  put(bytes, 96, static_cast<std::uint32_t>(bytes.size()));
  put(bytes, 100, vlrs);
  put(bytes, 104, static_cast<std::uint8_t>(file.format));
  put(bytes, 105, static_cast<std::uint16_t>(file.record_bytes()));
  if (file.minor < 4 || file.format < 6) put(bytes, 107, static_cast<std::uint32_t>(file.points));
  if (file.minor >= 4) put(bytes, 247, static_cast<std::uint64_t>(file.points));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    put(bytes, 131 + 8 * axis, file.scale.at(axis));
    put(bytes, 155 + 8 * axis, file.offset.at(axis));
    put(bytes, 179 + 16 * axis, file.upper.at(axis));
    put(bytes, 187 + 16 * axis, file.lower.at(axis));
  }
  std::mt19937 random(file.format * 100 + file.minor);
  for (std::size_t i = 0; i < file.points; ++i) {
    const std::size_t at = bytes.size();
    bytes.resize(at + file.record_bytes());
    for (std::size_t k = at + 12; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(random());
    for (std::size_t axis = 0; axis < 3; ++axis) put(bytes, at + 4 * axis, static_cast<std::int32_t>(random() % 1000));
  }
  for (const char c : file.behind) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

}  // namespace penstock::test
