#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "fuzz/seeds.hpp"

namespace penstock::fuzz {
namespace {

// Little-endian numbers at fixed places.
template <typename T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

// The layout that transforms/clouds/codecs/packed_cloud.hpp describes.
std::string points(std::uint32_t count) {
  constexpr std::size_t kBegin = 80, kRecord = 13;
  std::string bytes(kBegin + count * kRecord, '\0');
  bytes.replace(0, 8, "PSPOINTS");
  put<std::uint16_t>(bytes, 8, 1);
  put<std::uint8_t>(bytes, 11, 1);
  put<std::uint32_t>(bytes, 12, kBegin);
  put<std::uint64_t>(bytes, 16, count);
  put<std::uint32_t>(bytes, 48, kRecord);
  bytes.replace(56, 7, std::string("\0\5class", 7));
  for (std::uint32_t i = 0; i < count * 3; ++i) put(bytes, kBegin + i / 3 * kRecord + i % 3 * 4, static_cast<float>(i));
  return bytes;
}

// Source: ASPRS LAS 1.2 and 1.4, "Public Header Block".
std::string las(std::uint8_t minor, std::uint8_t format, std::uint16_t record, std::uint32_t count) {
  const std::uint16_t header = minor == 4 ? 375 : 227;
  std::string bytes(header + count * std::size_t{record}, '\0');
  bytes.replace(0, 4, "LASF");
  put<std::uint8_t>(bytes, 24, 1);
  put<std::uint8_t>(bytes, 25, minor);
  put<std::uint16_t>(bytes, 94, header);
  put<std::uint32_t>(bytes, 96, header);
  put<std::uint8_t>(bytes, 104, format);
  put<std::uint16_t>(bytes, 105, record);
  put<std::uint32_t>(bytes, 107, count);
  if (minor == 4) put<std::uint64_t>(bytes, 247, count);
  for (const std::size_t at : {131, 139, 147}) put<double>(bytes, at, 0.01);                  // scales
  for (const std::size_t at : {179, 195, 211}) put<double>(bytes, at, 0.01 * (count * 3.0));  // upper bounds
  for (std::uint32_t i = 0; i < count * 3; ++i) {
    put(bytes, header + i / 3 * std::size_t{record} + i % 3 * 4, static_cast<std::int32_t>(i));
  }
  return bytes;
}

}  // namespace

void add_clouds(const Seeds& seeds) {
  seeds.add(
      "ply_codec", "text",
      "ply\nformat ascii 1.0\ncomment none\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n"
      "property uchar red\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0 1\n1 2 3 4\n3 0 1 "
      "0\n");
  for (const std::string order : {"little", "big"}) {
    seeds.add("ply_codec", order,
              "ply\nformat binary_" + order + "_endian 1.0\nelement vertex 3\nproperty double x\nproperty double y\n" +
                  "property double z\nproperty ushort intensity\nend_header\n" + std::string(3 * 26, '\0'));
  }
  const std::string pcd =
      "VERSION .7\nFIELDS x y z intensity\nSIZE 4 4 4 1\nTYPE F F F U\nCOUNT 1 1 1 1\nWIDTH 2\nHEIGHT 1\n"
      "VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA ";
  seeds.add("pcd_codec", "text", pcd + "ascii\n0 1 2 3\nnan 5 6 7\n");
  seeds.add("pcd_codec", "binary", pcd + "binary\n" + std::string(2 * 13, '\1'));
  // LZF: runs of bytes as they are, each behind its length less one.
  seeds.add("pcd_codec", "compressed",
            pcd + "binary_compressed\n" + std::string("\x1B\0\0\0\x1A\0\0\0\x19", 9) + std::string(26, '\2'));
  seeds.add("off_codec", "off", "OFF\n# a comment\n3 1 0\n0 0 0\n1 0 0\n0 1 0.5\n3 0 1 2\n");
  seeds.add("off_codec", "glued", "OFF3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n");
  seeds.add("xyz_codec", "blanks", "0 0 0 1\n1 2 3 4\n-1.5e3 2 .5 6\n");
  seeds.add("xyz_codec", "commas", "x,y,z\n0,0,0\n1,2,3\n");
  seeds.add("xyz_codec", "table", "\xEF\xBB\xBF\"x\";y;z;\"Point Source\";\r\n1;2;;4\r\n-1e3; \"5\" ;6;\r\n");
  seeds.add("xyz_codec", "words", "species,x,y,z\noak,1,2,3\n\"old, oak\",4,5,6,\n");
  seeds.add("points_codec", "few", points(5));
  seeds.add("points_codec", "none", points(0));
  constexpr std::array<std::uint16_t, 11> kRecords{20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67};
  for (std::uint8_t format = 0; format < kRecords.size(); ++format) {
    const std::uint8_t minor = format < 4 ? 2 : 4;
    seeds.add("las_codec", "format" + std::to_string(format), las(minor, format, kRecords[format], 4));
  }
}

}  // namespace penstock::fuzz
