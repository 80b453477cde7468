#include <algorithm>

#include <fcntl.h>

#include <penstock/formats/extent_reader.hpp>
#include <penstock/formats/io/file_identity.hpp>

namespace penstock {

std::vector<std::byte> ExtentReader::beginning(const Extent& extent, std::uint64_t length) {
  const std::filesystem::path path = dataset_.file(extent.file).path;
  if (!file_ || file_->first != extent.file) {
    file_.reset();
    Descriptor file = Descriptor::open(path, O_RDONLY);
    dataset_.require_unchanged(extent.file, identity_of(file.get(), path));
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM);  // or the kernel reads ahead, up to megabytes
    file_.emplace(extent.file, std::move(file));
  }
  std::vector<std::byte> bytes(std::min(length, extent.length));
  bytes.resize(read_at(file_->second.get(), bytes, extent.offset, path));
  return bytes;
}

}  // namespace penstock
