// The source of a shard's bytes while the shard is found, validated and indexed: a file, or an object of a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include <formats/io/file_identity.hpp>

namespace penstock {

/// Bytes of a fixed length that are read by ranges. Any number of threads may read at once.
class ByteSource {
 public:
  ByteSource(ByteSource&&) = delete;
  virtual ~ByteSource() = default;

  const std::filesystem::path& path() const { return path_; }  ///< for messages
  std::uint64_t size() const { return size_; }                 ///< bytes when it was opened

  /// Reads until `bytes` is full or the source ends. Returns the number of bytes read. Throws Error: io, with the path.
  virtual std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) const = 0;
  /// Current identity of the opened file or object. Throws Error: io.
  virtual FileIdentity identity() const = 0;
  /// Announces that these bytes will be read soon, so that the source can prefetch them.
  virtual void expect(std::uint64_t offset, std::uint64_t length) const = 0;

 protected:
  ByteSource(std::filesystem::path path, std::uint64_t size) : path_(std::move(path)), size_(size) {}

 private:
  const std::filesystem::path path_;
  const std::uint64_t size_;
};

/// Access pattern. With `anywhere` the kernel does not read ahead, which would waste megabytes.
enum class Access : std::uint8_t { in_order, anywhere };

/// Opens a file. open_byte_source() (formats/places/places.hpp) also opens objects. Throws Error: io; invalid_argument,
/// if `path` is not a file.
std::shared_ptr<const ByteSource> open_file_source(const std::filesystem::path& path, Access access);

}  // namespace penstock
