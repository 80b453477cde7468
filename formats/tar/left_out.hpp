// Counts the parts of a tar that are not read: members that could be values but belong to no sample, and bytes after
// its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <formats/tar/members.hpp>

namespace penstock {

class TarLeftOut {
 public:
  /// A member that belongs to no sample. Directories, labels of volumes and names with a leading dot do not count.
  void add(const TarMember& member);
  /// {"left_out":2,"left_out_example":"README"}, and "warnings", a list, if bytes follow the end marker at `after_end`;
  /// "{}" without either.
  std::string attributes(std::optional<std::uint64_t> after_end) const;

 private:
  std::uint64_t count_ = 0;
  std::string first_;
};

}  // namespace penstock
