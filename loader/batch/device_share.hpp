// Describes what a device does of a batch besides receiving a copy of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <penstock/transforms/program/program.hpp>

namespace penstock {

struct DeviceShare {
  bool row_table = false;                  ///< its passes want to know the rows' samples, and where ragged rows begin
  std::vector<std::uint8_t> reads = {};    ///< by output, 1 where it reads rows from their files; empty: none
  std::vector<std::uint8_t> decodes = {};  ///< by output, 1 where it decodes JPEGs; empty: none

  bool reads_output(std::size_t output) const { return !reads.empty() && reads[output] != 0; }
  bool decodes_output(std::size_t output) const { return !decodes.empty() && decodes[output] != 0; }
};

/// For the stats: the names of the chosen ones.
inline std::string names_of(std::span<const Output> outputs, std::span<const std::uint8_t> chosen) {
  std::string names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (chosen[i] != 0) names += (names.empty() ? "" : ", ") + outputs[i].name;
  }
  return names;
}

}  // namespace penstock
