// Finds the pages of a private mapping that its process changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::sharing {

constexpr std::uint64_t kPage = 4096;

/// Whether this process wrote to one of `pages` pages of a private mapping of a file. The write made the page private.
/// `data` is the beginning of a page. Returns true if the system does not answer. Thread-safe.
bool any_changed(const std::byte* data, std::uint64_t pages);

/// The two ways that any_changed uses; `map` is /proc/self/pagemap. The scan is three times as fast, and returns nothing
/// before Linux 6.7.
std::optional<bool> changed_by_scan(int map, std::uintptr_t begin, std::uint64_t pages);
bool changed_by_entries(int map, std::uintptr_t begin, std::uint64_t pages);

}  // namespace penstock::sharing
