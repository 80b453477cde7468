#include <algorithm>

#include <formats/extent_reader.hpp>
#include <formats/places/places.hpp>

namespace penstock {

std::vector<std::byte> ExtentReader::beginning(const Extent& extent, std::uint64_t length) {
  const std::filesystem::path path = dataset_.file(extent.file).path;
  if (!file_ || file_->first != extent.file) {
    file_.reset();
    auto source = open_byte_source(path, dataset_.stored_object(extent.file), Access::anywhere);
    dataset_.require_unchanged(extent.file, source->identity());
    file_.emplace(extent.file, std::move(source));
  }
  std::vector<std::byte> bytes(std::min(length, extent.length));
  bytes.resize(file_->second->read(extent.offset, bytes));
  return bytes;
}

}  // namespace penstock
