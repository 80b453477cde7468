// Describes a batch: keys, samples and outputs. The values may be in a slab of the host or of a device.
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

/// The rows of an output that have the sample's value. Other rows are filled or empty, because the sample lacks the
/// field, or invalid.
struct PresentRows {
  std::uint32_t output;            ///< position in BatchRecord::fields
  std::vector<std::uint8_t> rows;  ///< 1 or 0 for each row
};

struct BatchRecord {
  std::uint64_t seed = 0, epoch = 0, number = 0;
  std::uint64_t start = 0;          ///< position in the epoch's permutation at which `number` counts from 0
  std::uint64_t shuffle_block = 0;  ///< of the epoch's order
  std::uint32_t rows = 0;
  std::vector<std::uint64_t> samples;
  std::shared_ptr<const Carried> carried;  ///< state of a mixture, with the same meaning as in Position
  BatchLimits composed;                    ///< limits of the epoch's batches, with the same meaning as in Position
  /// Of each row: how often the epoch's list of samples contained its sample before.
  std::vector<std::uint32_t> occurrences;
  std::vector<std::int64_t> sources;  ///< of each row: the number of its source in the mixture; empty without one
  std::vector<std::string_view> keys;
  std::vector<std::uint8_t> valid;
  std::vector<std::uint8_t> cleared;  ///< of each row: whether on_error="mark" has cleared it; false for padding
  std::vector<PresentRows> present;   ///< of outputs that may go without their field
  std::optional<MixDraw> mix;         ///< how the batch was mixed
  std::uint64_t read_bytes = 0;       ///< stored bytes read for its rows; set at delivery
  std::vector<BadSample> bad;         ///< one for each invalid row; set at delivery
  std::vector<Field> fields;          ///< published when the last row is written
  DeviceUse* use = nullptr;           ///< of values on a device: when they may be read

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
