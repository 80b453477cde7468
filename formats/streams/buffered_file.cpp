#include <algorithm>
#include <utility>

#include <fcntl.h>

#include <formats/index/probe_stamp.hpp>
#include <formats/streams/buffered_file.hpp>

namespace penstock {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

}  // namespace

BufferedFile::BufferedFile(std::filesystem::path path) : BufferedFile(std::move(path), {}) {}

BufferedFile::BufferedFile(std::filesystem::path path, const std::string& object) : path_(std::move(path)) {
  if (object.empty()) {
    file_ = Descriptor::open(path_, O_WRONLY | O_CREAT | O_EXCL, 0644);
  } else {
    object_.emplace(object);
  }
  buffer_.reserve(kBuffer);
}

void BufferedFile::append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() >= kBuffer) {
    write(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  position_ += bytes.size();
  if (!object_) writeback_.advance(file_.get(), position_ - buffer_.size());
}

void BufferedFile::append_zeros(std::uint64_t count) {
  static constexpr std::byte kZeros[4096]{};
  for (; count > sizeof(kZeros); count -= sizeof(kZeros)) append(kZeros);
  append(std::span(kZeros).first(count));
}

void BufferedFile::finish() {
  flush();
  object_ ? object_->finish() : sync(file_.get(), path_);
}

std::uint64_t BufferedFile::stamp() const {
  return object_ ? object_->stamp() : probe_stamp(path_);
}

void BufferedFile::flush() {
  write(buffer_);
  buffer_.clear();
}

void BufferedFile::write(std::span<const std::byte> bytes) {
  object_ ? object_->append(bytes) : write_all(file_.get(), bytes, path_);
}

}  // namespace penstock
