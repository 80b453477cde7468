// Runs one trial: a dataset is damaged, the system fails, and each action ends in what was written or in an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "campaign/kinds.hpp"
#include "campaign/ledger.hpp"

namespace penstock::campaign {

struct Verdict {
  Outcome outcome = Outcome::right;
  std::string text;  ///< what was wrong
};

/// A function of seed and number alone, but for what threads race for. Works in `scratch`, which it empties first.
Verdict run_trial(std::uint64_t seed, std::uint64_t number, std::span<const Kind> kinds,
                  const std::filesystem::path& scratch, Ledger& ledger);

}  // namespace penstock::campaign
