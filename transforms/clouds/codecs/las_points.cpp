#include <cstring>
#include <type_traits>

#include <base/numbers/load.hpp>
#include <formats/element_types.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/las_points.hpp>

namespace penstock {
namespace {

// Calls each(number, record) for all records. The body is compiled twice, so that the loop over contiguous records has
// no table look-up.
template <class Each>
void for_each_record(const LasRecords& records, Each each) {
  if (records.at.empty()) {
    const std::byte* record = records.first;
    for (std::uint64_t i = 0; i < records.count; ++i, record += records.stride) each(i, record);
  } else {
    for (std::uint64_t i = 0; i < records.count; ++i) each(i, records.first + records.at[i]);
  }
}

template <class Delivered>
void store(std::byte* out, std::uint64_t number, Delivered value) {
  std::memcpy(out + number * sizeof value, &value, sizeof value);
}

template <class Stored>
void copy_values(const LasAttribute& attribute, const LasRecords& records, std::byte* out) {
  const std::size_t at = attribute.at;
  if (attribute.scaled) {
    const double scale = attribute.scale, offset = attribute.offset;
    for_each_record(records, [=](std::uint64_t i, const std::byte* record) {
      store(out, i, static_cast<double>(load<Stored>(record + at)) * scale + offset);
    });
    return;
  }
  if constexpr (std::is_same_v<Stored, std::uint8_t>) {
    const std::uint8_t shift = attribute.shift, mask = attribute.mask;
    for_each_record(records, [=](std::uint64_t i, const std::byte* record) {
      store(out, i, static_cast<std::uint8_t>((load<std::uint8_t>(record + at) >> shift) & mask));
    });
  } else {
    for_each_record(records,
                    [=](std::uint64_t i, const std::byte* record) { store(out, i, load<Stored>(record + at)); });
  }
}

}  // namespace

void las_coordinates(const LasHeader& header, const LasRecords& records, float* out) {
  const auto scale = header.scale, offset = header.offset, origin = header.origin;
  for_each_record(records, [=](std::uint64_t i, const std::byte* record) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double value = load<std::int32_t>(record + 4 * axis) * scale[axis] + offset[axis];
      out[3 * i + axis] = static_cast<float>(value - origin[axis]);
    }
  });
}

void las_attribute(const LasAttribute& attribute, const LasRecords& records, std::byte* out) {
  with_element(attribute.stored, [&](auto element) {
    if constexpr (std::is_arithmetic_v<decltype(element)>) {
      copy_values<decltype(element)>(attribute, records, out);
    } else {
      throw Error::invalid_argument("las: no such dtype in a record");
    }
  });
}

}  // namespace penstock
