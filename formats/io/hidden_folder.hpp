// A folder for what waits on a disk: hidden, and gone in the end.
#pragma once

#include <filesystem>
#include <string_view>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// ".PREFIXxxxxxx" in a folder: removed with this object, or by the next one of that prefix there where the process is
/// killed. Its descriptor has a lock, so that other processes see it is in use.
class HiddenFolder {
 public:
  /// `prefix` begins with a dot. `around` is made where it is missing. Throws Error: io.
  HiddenFolder(const std::filesystem::path& around, std::string_view prefix);
  ~HiddenFolder();
  HiddenFolder(HiddenFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor held_;
};

}  // namespace penstock
