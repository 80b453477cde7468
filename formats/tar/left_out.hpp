// Members of a tar that could be values, but belong to no sample: how many, and the first of them.
#pragma once

#include <cstdint>
#include <string>

#include <penstock/formats/tar/members.hpp>

namespace penstock {

class TarLeftOut {
 public:
  /// A member that belongs to no sample. Directories, labels of volumes and names with a leading dot do not count.
  void add(const TarMember& member);
  /// {"left_out":2,"left_out_example":"README"}; "{}" where there is none.
  std::string attributes() const;

 private:
  std::uint64_t count_ = 0;
  std::string first_;
};

}  // namespace penstock
