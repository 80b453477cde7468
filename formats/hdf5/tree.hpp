// Reads B-trees of version 2: sorted records of one size, in nodes of one size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <formats/hdf5/file.hpp>

namespace penstock {

/// Called with the tree's type (section III.A.2) and a record.
using OnRecord = std::function<void(unsigned, std::span<const std::byte>)>;

/// Calls `on_record` for each record of the tree whose header is at `address`, in no particular order. Throws Error:
/// corrupt; unsupported; io.
void each_record(const Hdf5File& file, std::uint64_t address, const OnRecord& on_record);

}  // namespace penstock
