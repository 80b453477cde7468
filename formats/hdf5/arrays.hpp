// Reads fixed and extensible arrays, the chunk indexes of datasets that newer HDF5 libraries write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <formats/hdf5/file.hpp>

namespace penstock {

/// The entries of an array that were written, in runs.
struct Hdf5Array {
  std::uint64_t entry_bytes = 0;
  bool filtered = false;  ///< entries have stored length and filter mask behind the address
  std::map<std::uint64_t, std::vector<std::byte>> runs;  ///< by the number of their first entry

  /// Entry `number`; empty where nothing was written.
  std::span<const std::byte> entry(std::uint64_t number) const;
};

/// Throws Error: corrupt; unsupported; io. Source: sections VII.B "Fixed Array Index" and VII.C "Extensible Array
/// Index" of version 3.0's appendix on chunk indexes.
Hdf5Array read_fixed_array(const Hdf5File& file, std::uint64_t address);
Hdf5Array read_extensible_array(const Hdf5File& file, std::uint64_t address);

}  // namespace penstock
