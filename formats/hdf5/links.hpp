// Lists the members of a group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <formats/hdf5/object.hpp>

namespace penstock {

struct Hdf5Link {
  std::string name;
  /// Address of the object's header; kNoAddress for soft, external and other links, which are not followed.
  std::uint64_t address;
};

/// Returns links in bytewise order of their names, for all storage forms of groups (symbol table, messages, heap).
/// Throws Error: corrupt; unsupported; io.
std::vector<Hdf5Link> links_of(const Hdf5File& file, const Hdf5Object& group);

}  // namespace penstock
