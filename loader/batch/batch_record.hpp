// Describes a batch: keys, samples and outputs, whether its values lie in a slab of the host or of a device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <penstock/field.hpp>
#include <penstock/mix.hpp>
#include <penstock/order.hpp>
#include <penstock/stats.hpp>
#include <transforms/output.hpp>

namespace penstock {

class DeviceUse;  // device/device_use.hpp
struct Carried;   // order/mixture/mixed_order.hpp

struct BatchRecord {
  std::uint64_t seed = 0, epoch = 0, number = 0;
  std::uint64_t start = 0;          ///< position of the epoch's permutation that numbers count from
  std::uint64_t shuffle_block = 0;  ///< of the epoch's order
  std::uint32_t rows = 0;
  std::vector<std::uint64_t> samples;
  std::shared_ptr<const Carried> carried;  ///< of a mixture, as Position has it
  BatchLimits composed;                    ///< of the epoch's batches, as Position has it
  std::vector<std::uint32_t> occurrences;  ///< of each row's sample in the epoch's list of samples
  std::vector<std::int64_t> sources;       ///< of each row, its number in the mixture; empty without one
  std::vector<std::string_view> keys;
  std::vector<std::uint8_t> valid;
  std::optional<MixDraw> mix;    ///< how the rows were mixed
  std::uint64_t read_bytes = 0;  ///< stored bytes that were read for its rows; set at delivery
  std::vector<BadSample> bad;    ///< of rows that are not valid; set at delivery
  std::vector<Field> fields;     ///< published when the last row is written
  DeviceUse* use = nullptr;      ///< of values that lie on a device: when they may be read

  SampleContext context(std::uint32_t row) const {
    return {.seed = seed, .epoch = epoch, .sample = samples[row], .key = keys[row], .occurrence = occurrences[row]};
  }
  std::uint64_t delivered_bytes() const {  ///< of all fields' values
    std::uint64_t bytes = 0;
    for (const Field& field : fields) bytes += field.values.bytes();
    return bytes;
  }
};

}  // namespace penstock
