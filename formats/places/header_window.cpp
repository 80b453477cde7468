#include <algorithm>
#include <utility>

#include <formats/places/header_window.hpp>
#include <formats/places/places.hpp>

namespace penstock {

HeaderWindow::HeaderWindow(std::shared_ptr<const ByteSource> source, std::string shard)
    : source_(std::move(source)), shard_(std::move(shard)) {}

HeaderWindow::HeaderWindow(const std::filesystem::path& path, std::string shard)
    : HeaderWindow(open_byte_source(path), std::move(shard)) {}

std::span<const std::byte> HeaderWindow::read(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead) {
  if (offset > size() || length > size() - offset) {
    throw corrupt("the file of " + std::to_string(size()) + " bytes ends inside the data that begin here", offset);
  }
  const bool inside =
      offset >= begin_ && offset - begin_ <= window_.size() && window_.size() - (offset - begin_) >= length;
  if (!inside) {
    window_.resize(std::min(std::max(length, ahead), size() - offset));
    begin_ = offset;
    window_.resize(source_->read(offset, window_));
    if (window_.size() < length) throw corrupt("the file became shorter while it was read", offset);
  }
  return std::span(window_).subspan(offset - begin_, length);
}

Error HeaderWindow::corrupt(std::string cause, std::uint64_t offset) const {
  return Error::corrupt(std::move(cause), {.shard = shard_, .offset = offset});
}

Error HeaderWindow::unsupported(std::string cause, std::uint64_t offset) const {
  return Error::unsupported(std::move(cause), {.shard = shard_, .offset = offset});
}

}  // namespace penstock
