#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include <bench/synth/las_writer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "LAS is little-endian and written as memory is");

constexpr std::size_t kRecordHeader = 54;  // of a variable length record
// Contains only names, without the ellipsoid's parameters: enough for a reader to identify the system.
constexpr std::string_view kCoordinateSystem =
    R"(PROJCS["ETRS89 / UTM zone 32N",GEOGCS["ETRS89",DATUM["European_Terrestrial_Reference_System_1989",)"
    R"(SPHEROID["GRS 1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],)"
    R"(PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",9],)"
    R"(PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],PARAMETER["false_northing",0],)"
    R"(UNIT["metre",1],AUTHORITY["EPSG","25832"]])";

/// Offsets of a point format's attributes in its record; 0: the format lacks it.
struct Record {
  std::size_t bytes, gps_time, colour;
};

// Formats 4 and 5, which have waveforms, are not written.
constexpr std::array<Record, 8> kRecords{
    {{20, 0, 0}, {28, 20, 0}, {26, 0, 20}, {34, 20, 28}, {0, 0, 0}, {0, 0, 0}, {30, 22, 0}, {36, 22, 30}}};

/// Stored coordinates of all points, and their bounds.
struct Scales {
  std::vector<std::array<std::int32_t, 3>> points;
  std::array<std::int32_t, 3> low{}, high{};
};

template <typename T>
void put(std::byte* record, std::size_t at, T value) {
  std::memcpy(record + at, &value, sizeof(value));
}

void put_text(std::byte* record, std::size_t at, std::string_view text) {
  std::memcpy(record + at, text.data(), text.size());
}

Scales scales_of(const LasSite& site, std::span<const LaserReturn> points) {
  Scales scales;
  scales.points.resize(points.size());
  if (points.empty()) return scales;
  scales.low.fill(std::numeric_limits<std::int32_t>::max());
  scales.high.fill(std::numeric_limits<std::int32_t>::min());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double step = std::nearbyint(points[i].position[axis] / site.scale);
      if (!(std::abs(step) < 2147483647.0)) throw Error::invalid_argument("a position does not fit a LAS record");
      scales.points[i][axis] = static_cast<std::int32_t>(step);
      scales.low[axis] = std::min(scales.low[axis], scales.points[i][axis]);
      scales.high[axis] = std::max(scales.high[axis], scales.points[i][axis]);
    }
  }
  return scales;
}

void put_header(std::byte* header, const LasSite& site, const Scales& scales, std::span<const LaserReturn> points,
                std::size_t header_bytes, std::size_t data_begin) {
  const bool modern = site.format >= 6;
  const auto count = static_cast<std::uint32_t>(points.size());
  std::array<std::uint32_t, 15> by_return{};
  for (const LaserReturn& point : points) ++by_return.at(point.number - 1U);
  put_text(header, 0, "LASF");
  put<std::uint16_t>(header, 6, modern ? 0x11 : 0x01);  // adjusted standard GPS time; WKT
  put<std::uint8_t>(header, 24, 1);
  put<std::uint8_t>(header, 25, modern ? 4 : 2);
  put_text(header, 26, "OTHER");
  put_text(header, 58, "penstock synth clouds");
  put(header, 94, static_cast<std::uint16_t>(header_bytes));
  put(header, 96, static_cast<std::uint32_t>(data_begin));
  put<std::uint32_t>(header, 100, modern ? 1 : 0);
  put(header, 104, static_cast<std::uint8_t>(site.format));
  put(header, 105, static_cast<std::uint16_t>(kRecords[site.format].bytes));
  if (!modern) {
    put(header, 107, count);
    for (std::size_t i = 0; i < 5; ++i) put(header, 111 + 4 * i, by_return[i]);
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    put(header, 131 + 8 * axis, site.scale);
    put(header, 155 + 8 * axis, site.offset[axis]);
    put(header, 179 + 16 * axis, scales.high[axis] * site.scale + site.offset[axis]);
    put(header, 187 + 16 * axis, scales.low[axis] * site.scale + site.offset[axis]);
  }
  if (!modern) return;
  put<std::uint64_t>(header, 247, count);
  for (std::size_t i = 0; i < by_return.size(); ++i) put<std::uint64_t>(header, 255 + 8 * i, by_return[i]);
}

void put_coordinate_system(std::byte* record) {
  put_text(record, 2, "LASF_Projection");
  put<std::uint16_t>(record, 18, 2112);
  put(record, 20, static_cast<std::uint16_t>(kCoordinateSystem.size() + 1));
  put_text(record, 22, "OGC WKT");
  put_text(record, kRecordHeader, kCoordinateSystem);
}

void put_point(std::byte* record, const LasSite& site, const LaserReturn& point,
               const std::array<std::int32_t, 3>& place) {
  std::memcpy(record, place.data(), 12);
  put(record, 12, point.intensity);
  if (site.format >= 6) {
    put(record, 14, static_cast<std::uint8_t>(point.number | (point.returns << 4)));
    put<std::uint8_t>(record, 15, point.edge ? 0x80 : 0);
    put(record, 16, point.classification);
    put(record, 18, static_cast<std::int16_t>(std::lround(point.scan_angle / 0.006F)));
    put(record, 20, point.source);
  } else {
    put(record, 14, static_cast<std::uint8_t>(point.number | (point.returns << 3) | (point.edge ? 0x80 : 0)));
    put(record, 15, point.classification);
    put(record, 16, static_cast<std::int8_t>(std::lround(point.scan_angle)));
    put(record, 18, point.source);
  }
  const Record& layout = kRecords[site.format];
  if (layout.gps_time != 0) put(record, layout.gps_time, point.gps_time);
  if (layout.colour != 0) std::memcpy(record + layout.colour, point.colour.data(), 6);
}

}  // namespace

bool writes_las_format(unsigned format) {
  return format < kRecords.size() && kRecords[format].bytes != 0;
}

std::vector<std::byte> las_bytes(const LasSite& site, std::span<const LaserReturn> points) {
  if (!writes_las_format(site.format)) {
    throw Error::invalid_argument("LAS point format must be 0, 1, 2, 3, 6 or 7, not " + std::to_string(site.format));
  }
  const bool modern = site.format >= 6;
  const std::size_t header_bytes = modern ? 375 : 227;
  const std::size_t data_begin = header_bytes + (modern ? kRecordHeader + kCoordinateSystem.size() + 1 : 0);
  const Scales scales = scales_of(site, points);
  const std::size_t record_bytes = kRecords[site.format].bytes;
  std::vector<std::byte> bytes(data_begin + points.size() * record_bytes);
  put_header(bytes.data(), site, scales, points, header_bytes, data_begin);
  if (modern) put_coordinate_system(bytes.data() + header_bytes);
  std::byte* record = bytes.data() + data_begin;
  for (std::size_t i = 0; i < points.size(); ++i, record += record_bytes)
    put_point(record, site, points[i], scales.points[i]);
  return bytes;
}

}  // namespace penstock
