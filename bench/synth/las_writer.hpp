// Writes laser points as the bytes of a LAS file, for the workload generator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// One return of a laser pulse.
struct LaserReturn {
  std::array<double, 3> position;  ///< metres from LasSite::offset
  double gps_time;                 ///< adjusted standard GPS seconds
  float scan_angle;                ///< degrees; negative left of nadir
  std::uint16_t intensity;
  std::array<std::uint16_t, 3> colour;  ///< red, green, blue
  std::uint16_t source;                 ///< number of the flight strip
  std::uint8_t number, returns;         ///< number of this return in its pulse, from 1; number of the pulse's returns
  std::uint8_t classification;          ///< ASPRS: 2 ground, 4 and 5 vegetation, 7 noise
  bool edge;                            ///< last return of its scan line
};

struct LasSite {
  unsigned format = 6;           ///< point format: 0 to 3 (as LAS 1.2), 6 or 7 (as LAS 1.4)
  std::array<double, 3> offset;  ///< world coordinates of position (0, 0, 0)
  double scale = 0.001;          ///< metres per step of the stored coordinates
};

bool writes_las_format(unsigned format);

/// Writes a header, a coordinate system (only for LAS 1.4: ETRS89 / UTM 32N as WKT) and one record for each point, in
/// order. Omits values that the format has no field for. Counts and bounds in the header are those of the stored
/// records. There is no date. Throws Error: invalid_argument, for other formats and positions beyond 32 bits.
/// Source: ASPRS, "LAS Specification 1.4 - R15", sections 2.4 to 2.6; for 1.2 its revision of 2008.
std::vector<std::byte> las_bytes(const LasSite& site, std::span<const LaserReturn> points);

}  // namespace penstock
