#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include <penstock/formats/io/header_window.hpp>

namespace penstock {

HeaderWindow::HeaderWindow(std::filesystem::path path, std::string shard)
    : path_(std::move(path)), shard_(std::move(shard)), file_(Descriptor::open(path_, O_RDONLY)) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw Error::io(errno, "cannot stat " + path_.string());
  if (!S_ISREG(status.st_mode)) throw Error::invalid_argument(path_.string() + " is not a file");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::span<const std::byte> HeaderWindow::read(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead) {
  if (offset > size_ || length > size_ - offset) {
    throw corrupt("the file of " + std::to_string(size_) + " bytes ends inside what begins here", offset);
  }
  const bool inside =
      offset >= begin_ && offset - begin_ <= window_.size() && window_.size() - (offset - begin_) >= length;
  if (!inside) {
    window_.resize(std::min(std::max(length, ahead), size_ - offset));
    begin_ = offset;
    window_.resize(read_at(file_.get(), window_, offset, path_));
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
