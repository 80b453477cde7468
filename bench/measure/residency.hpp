// Measures how much of a dataset is in the page cache, because results of a warm and of a cold cache are not
// comparable.
#pragma once

#include <functional>

#include <penstock/dataset.hpp>

namespace penstock {

/// Share of the dataset's pages in memory, in [0, 1]. Estimated from at most `files` files spread over the dataset.
/// Files that cannot be mapped count as absent.
double resident_share(const Dataset& dataset, std::uint32_t files = 256);

/// Asks the kernel to drop the dataset's clean pages. Returns the share that stayed (a page still mapped or dirty).
double drop_pages(const Dataset& dataset);

/// Reads all files into memory, unless they are larger than the available memory. Returns the resident share. Skips
/// unreadable files. Throws Error: resource, "interrupted", if keep_going() returns false.
double bring_pages(const Dataset& dataset, const std::function<bool()>& keep_going = {});

}  // namespace penstock
