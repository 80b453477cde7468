// The sections of the overview's HTML page about one rank.
#pragma once

#include <cstdint>
#include <string>

#include <overview/overview.hpp>

namespace penstock::overview::page {

/// Everything after the diagnosis. `of_rank` is HTML that ends the headings.
std::string rank_sections(const RankOverview& rank, const std::string& of_rank);

std::string file_name(const RankOverview& rank);                       ///< shortened if it is long
std::string rank_name(const RankOverview& rank);                       ///< "rank 3", or the name of the file
std::string largest_shares(const RankOverview& rank);                  ///< ": 60 % DataLoader, 27 % Kernel"
std::string count(std::uint64_t number, const std::string& singular);  ///< "1 step", "1,000 steps"

}  // namespace penstock::overview::page
