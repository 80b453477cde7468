// Whether a dataset's bytes are in the page cache: a bench of a warm cache and one of a cold one are two benches.
#pragma once

#include <penstock/formats/dataset.hpp>

namespace penstock {

/// Share of the dataset's pages that are in memory, in [0, 1], estimated from at most `files` files spread over it.
/// Files that cannot be mapped count as absent.
double resident_share(const Dataset& dataset, std::uint32_t files = 256);

/// Asks the kernel to drop the dataset's clean pages. Returns the share that stayed (a page still mapped or dirty).
double drop_pages(const Dataset& dataset);

}  // namespace penstock
