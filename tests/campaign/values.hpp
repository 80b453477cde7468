// Makes values for the datasets of a campaign.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::campaign {

std::string array_value(
    std::uint32_t number);  ///< .npy, int16; some are longer than a range with a checksum of its own
std::string cloud_value(std::uint32_t number);  ///< LAS

}  // namespace penstock::campaign
