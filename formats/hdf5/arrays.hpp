// Reads fixed and extensible arrays, the chunk indexes in files of newer HDF5 libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <formats/hdf5/file.hpp>

namespace penstock {

/// The written entries of an array, in runs.
struct Hdf5Array {
  std::uint64_t entry_bytes = 0;
  bool filtered = false;  ///< in each entry, the stored length and the filter mask follow the address
  std::map<std::uint64_t, std::vector<std::byte>> runs;  ///< by the number of the first entry

  /// Returns entry `number`. Empty if it was never written.
  std::span<const std::byte> entry(std::uint64_t number) const;
};

/// Throw Error: corrupt; unsupported; io. Source: sections VII.B "Fixed Array Index" and VII.C "Extensible Array Index"
/// of version 3.0's appendix on chunk indexes.
Hdf5Array read_fixed_array(const Hdf5File& file, std::uint64_t address);
Hdf5Array read_extensible_array(const Hdf5File& file, std::uint64_t address);

}  // namespace penstock
