#include <algorithm>
#include <utility>

#include <fcntl.h>

#include <penstock/formats/io/buffered_file.hpp>

namespace penstock {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

}  // namespace

BufferedFile::BufferedFile(std::filesystem::path path)
    : path_(std::move(path)), file_(Descriptor::open(path_, O_WRONLY | O_CREAT | O_EXCL, 0644)) {
  buffer_.reserve(kBuffer);
}

void BufferedFile::append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() >= kBuffer) {
    write_all(file_.get(), bytes, path_);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  position_ += bytes.size();
  writeback_.advance(file_.get(), position_ - buffer_.size());
}

void BufferedFile::append_zeros(std::uint64_t count) {
  static constexpr std::byte kZeros[4096]{};
  for (; count > sizeof(kZeros); count -= sizeof(kZeros)) append(kZeros);
  append(std::span(kZeros).first(count));
}

void BufferedFile::finish() {
  flush();
  sync(file_.get(), path_);
}

void BufferedFile::flush() {
  write_all(file_.get(), buffer_, path_);
  buffer_.clear();
}

}  // namespace penstock
