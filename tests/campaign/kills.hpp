// Kills processes at any moment: what they were making is whole or absent, and goes on where it ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "campaign/kinds.hpp"
#include "campaign/ledger.hpp"

namespace penstock::campaign {

/// Up to `count` trials by kill -9, for `seconds`: of packing, staging, and opening foreign data for the first time.
/// Returns how many ran.
std::uint64_t run_kills(std::uint64_t seed, std::uint64_t first, std::uint64_t count, double seconds,
                        std::span<const Kind> kinds, const std::filesystem::path& scratch, Ledger& ledger);

}  // namespace penstock::campaign
