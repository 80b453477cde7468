// Measures how much of a dataset is in the page cache, because benches of a warm and of a cold cache are not alike.
#pragma once

#include <functional>

#include <penstock/dataset.hpp>

namespace penstock {

/// Share of the dataset's pages that are in memory, in [0, 1], estimated from at most `files` files spread over it.
/// Files that cannot be mapped count as absent.
double resident_share(const Dataset& dataset, std::uint32_t files = 256);

/// Asks the kernel to drop the dataset's clean pages. Returns the share that stayed (a page still mapped or dirty).
double drop_pages(const Dataset& dataset);

/// Reads all files, so that their pages are in memory, unless they are larger than the memory there is. Returns the
/// share that is. Files that cannot be read are left out. Throws Error: resource, "interrupted", when keep_going() says
/// no.
double bring_pages(const Dataset& dataset, const std::function<bool()>& keep_going = {});

}  // namespace penstock
