// A moving window over a file, for structures that are walked byte by byte with payloads skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>

#include <penstock/formats/descriptor.hpp>
#include <penstock/formats/error.hpp>

namespace penstock {

class FileWindow {
 public:
  /// Throws Error: io.
  explicit FileWindow(std::filesystem::path path) : path_(std::move(path)), file_(Descriptor::open(path_, O_RDONLY)) {}

  /// Throws Error: io; corrupt, when the file ends before.
  std::uint8_t byte(std::uint64_t offset) {
    if (offset < begin_ || offset - begin_ >= bytes_.size()) refill(offset);
    return std::to_integer<std::uint8_t>(bytes_[offset - begin_]);
  }

 private:
  static constexpr std::size_t kBytes = 16 << 10;

  void refill(std::uint64_t offset) {
    bytes_.resize(kBytes);
    begin_ = offset;
    bytes_.resize(read_at(file_.get(), bytes_, offset, path_));
    if (bytes_.empty())
      throw Error::corrupt("the file ends inside a value", {.shard = path_.string(), .offset = offset});
  }

  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t begin_ = 0;
  std::vector<std::byte> bytes_;  // [begin_, begin_ + bytes_.size()) of the file
};

}  // namespace penstock
