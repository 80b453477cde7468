#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include <penstock/error.hpp>
#include <transforms/clouds/codecs/las_attributes.hpp>

namespace penstock {
namespace {

constexpr std::size_t kExtraBytesRecord = 192;
constexpr std::size_t kMostUnnamed = 255;

struct Named {
  std::string_view name;
  DType dtype;
  std::uint32_t at;
  std::uint8_t shift = 0, mask = 0xFF;
};

constexpr std::array kPoint0{Named{"intensity", DType::u16, 12},
                             Named{"return_number", DType::u8, 14, 0, 7},
                             Named{"number_of_returns", DType::u8, 14, 3, 7},
                             Named{"scan_direction_flag", DType::u8, 14, 6, 1},
                             Named{"edge_of_flight_line", DType::u8, 14, 7, 1},
                             Named{"classification", DType::u8, 15, 0, 31},
                             Named{"synthetic", DType::u8, 15, 5, 1},
                             Named{"key_point", DType::u8, 15, 6, 1},
                             Named{"withheld", DType::u8, 15, 7, 1},
                             Named{"scan_angle_rank", DType::i8, 16},
                             Named{"user_data", DType::u8, 17},
                             Named{"point_source_id", DType::u16, 18}};
constexpr std::array kPoint6{Named{"intensity", DType::u16, 12},
                             Named{"return_number", DType::u8, 14, 0, 15},
                             Named{"number_of_returns", DType::u8, 14, 4, 15},
                             Named{"synthetic", DType::u8, 15, 0, 1},
                             Named{"key_point", DType::u8, 15, 1, 1},
                             Named{"withheld", DType::u8, 15, 2, 1},
                             Named{"overlap", DType::u8, 15, 3, 1},
                             Named{"scanner_channel", DType::u8, 15, 4, 3},
                             Named{"scan_direction_flag", DType::u8, 15, 6, 1},
                             Named{"edge_of_flight_line", DType::u8, 15, 7, 1},
                             Named{"classification", DType::u8, 16},
                             Named{"user_data", DType::u8, 17},
                             Named{"scan_angle", DType::i16, 18},
                             Named{"point_source_id", DType::u16, 20}};
constexpr std::array kColours{Named{"red", DType::u16, 0}, Named{"green", DType::u16, 2}, Named{"blue", DType::u16, 4}};
constexpr std::array kWaveform{Named{"wavepacket_index", DType::u8, 0},
                               Named{"wavepacket_offset", DType::u64, 1},
                               Named{"wavepacket_size", DType::u32, 9},
                               Named{"return_point_wave_location", DType::f32, 13},
                               Named{"x_t", DType::f32, 17},
                               Named{"y_t", DType::f32, 21},
                               Named{"z_t", DType::f32, 25}};

// Dtypes of the extra-bytes types 1 to 10. Types 11 to 20 are pairs of them, 21 to 30 triples.
constexpr std::array kExtraTypes{DType::u8,  DType::i8,  DType::u16, DType::i16, DType::u32,
                                 DType::i32, DType::u64, DType::i64, DType::f32, DType::f64};

void add(std::vector<LasAttribute>& all, std::span<const Named> named, std::uint32_t base) {
  for (const Named& each : named) {
    all.push_back({.delivered = {std::string(each.name), each.dtype},
                   .at = base + each.at,
                   .stored = each.dtype,
                   .shift = each.shift,
                   .mask = each.mask});
  }
}

std::vector<LasAttribute> standard_attributes(unsigned format) {
  std::vector<LasAttribute> all;
  const bool newer = format >= 6;
  add(all, newer ? std::span<const Named>(kPoint6) : std::span<const Named>(kPoint0), 0);
  const bool gps = newer || format == 1 || format >= 3;
  const bool colours = format == 2 || format == 3 || format == 5 || format == 7 || format == 8 || format == 10;
  const bool nir = format == 8 || format == 10;
  const bool waveform = format == 4 || format == 5 || format >= 9;
  std::uint32_t at = newer ? 22 : 20;
  auto next = [&](bool there, std::span<const Named> named, std::uint32_t bytes) {
    if (there) add(all, named, at);
    if (there) at += bytes;
  };
  next(gps, std::array{Named{"gps_time", DType::f64, 0}}, 8);
  next(colours, kColours, 6);
  next(nir, std::array{Named{"nir", DType::u16, 0}}, 2);
  next(waveform, kWaveform, 29);
  return all;
}

// Returns the name up to the first NUL. Characters that are not printable ASCII become question marks.
std::string extra_name(const std::byte* at) {
  const char* text = reinterpret_cast<const char*>(at);
  std::string name(text, strnlen(text, 32));
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return name;
}

// One extra-bytes record of the VLR: `count` consecutive elements of a point's record, each with a scale and an offset.
struct ExtraBytes {
  DType dtype = DType::u8;
  std::size_t count = 0;
  bool scaled = false;
  std::array<double, 3> scale{1, 1, 1}, offset{};
};

ExtraBytes read_extra(std::span<const std::byte> record) {
  const auto type = static_cast<unsigned>(record[2]), options = static_cast<unsigned>(record[3]);
  ExtraBytes extra;
  if (type == 0) {
    extra.count = options;
    return extra;
  }
  extra.dtype = kExtraTypes.at((type - 1) % 10);
  extra.count = 1 + (type - 1) / 10;
  extra.scaled = (options & 0x18) != 0;
  if ((options & 0x08) != 0) std::memcpy(extra.scale.data(), record.data() + 112, 24);
  if ((options & 0x10) != 0) std::memcpy(extra.offset.data(), record.data() + 136, 24);
  return extra;
}

void add_extra(std::vector<LasAttribute>& all, const std::string& name, const ExtraBytes& extra, std::uint32_t at) {
  for (std::size_t i = 0; i < extra.count; ++i) {
    LasAttribute one{.delivered = {name, extra.scaled ? DType::f64 : extra.dtype}, .at = at, .stored = extra.dtype};
    if (extra.count > 1) one.delivered.name += "[" + std::to_string(i) + "]";
    one.scaled = extra.scaled;
    if (extra.scaled) one.scale = extra.scale.at(i), one.offset = extra.offset.at(i);
    all.push_back(std::move(one));
    at += static_cast<std::uint32_t>(size_of(extra.dtype));
  }
}

}  // namespace

std::size_t las_record_bytes(unsigned format) {
  constexpr std::array<std::size_t, 11> kBytes{20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67};
  return kBytes.at(format);
}

std::vector<LasAttribute> las_attributes(unsigned format, std::size_t record_bytes, std::span<const std::byte> extra) {
  std::vector<LasAttribute> all = standard_attributes(format);
  std::size_t at = las_record_bytes(format);
  for (; extra.size() >= kExtraBytesRecord; extra = extra.subspan(kExtraBytesRecord)) {
    if (static_cast<unsigned>(extra[2]) > 30) break;
    const ExtraBytes one = read_extra(extra);
    const std::size_t bytes = one.count * size_of(one.dtype);
    const std::string name = extra_name(extra.data() + 4);
    if (bytes > record_bytes - at) {
      throw Error::corrupt("las: the extra bytes '" + name + "' exceed the record of " + std::to_string(record_bytes) +
                           " bytes");
    }
    add_extra(all, name, one, static_cast<std::uint32_t>(at));
    at += bytes;
  }
  if (const std::size_t rest = record_bytes - at; rest <= kMostUnnamed) {
    add_extra(all, "ExtraBytes", {.dtype = DType::u8, .count = rest}, static_cast<std::uint32_t>(at));
  }
  return all;
}

}  // namespace penstock
