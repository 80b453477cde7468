// Lists the members of a group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <formats/hdf5/object.hpp>

namespace penstock {

struct Hdf5Link {
  std::string name;
  std::uint64_t address;  ///< of the object's header; kNoAddress for soft, external and other links, not followed here
};

/// In bytewise order of their names, whichever of HDF5's ways the group keeps them in (symbol table, messages, heap).
/// Throws Error: corrupt; unsupported; io.
std::vector<Hdf5Link> links_of(const Hdf5File& file, const Hdf5Object& group);

}  // namespace penstock
