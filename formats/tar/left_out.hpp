// Counts the unread parts of a tar: members that could be values but belong to no sample, and bytes after its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <formats/tar/members.hpp>

namespace penstock {

class TarLeftOut {
 public:
  /// Counts a member that belongs to no sample. Ignores directories, volume labels and names with a leading dot.
  void add(const TarMember& member);
  /// Returns {"left_out":2,"left_out_example":"README"}, and "warnings", a list, if bytes follow the end marker at
  /// `after_end`; "{}" if there is neither.
  std::string attributes(std::optional<std::uint64_t> after_end) const;

 private:
  std::uint64_t count_ = 0;
  std::string first_;
};

}  // namespace penstock
