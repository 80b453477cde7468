// A hidden folder for temporary data on a disk.
#pragma once

#include <filesystem>
#include <string_view>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// The folder ".PREFIXxxxxxx" inside another folder. The destructor removes it. If the process is killed, the next
/// object with that prefix in the same place removes it. A lock on its descriptor shows other processes that the folder
/// is in use.
class HiddenFolder {
 public:
  /// `prefix` begins with a dot. `around` is created if missing. Throws Error: io.
  HiddenFolder(const std::filesystem::path& around, std::string_view prefix);
  ~HiddenFolder();
  HiddenFolder(HiddenFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor held_;
};

}  // namespace penstock
