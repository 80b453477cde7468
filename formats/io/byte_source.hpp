// Where the bytes of a shard are read from while it is found, proved and indexed: a file, or an object of a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include <formats/io/file_identity.hpp>

namespace penstock {

/// Bytes of one length that are read by ranges. Any number of threads may read at once.
class ByteSource {
 public:
  ByteSource(ByteSource&&) = delete;
  virtual ~ByteSource() = default;

  const std::filesystem::path& path() const { return path_; }  ///< for messages
  std::uint64_t size() const { return size_; }                 ///< bytes when it was opened

  /// Reads until `bytes` is full or the source ends; returns the bytes read. Throws Error: io, naming the path.
  virtual std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) const = 0;
  /// As it is now, of what was opened. Throws Error: io.
  virtual FileIdentity identity() const = 0;
  /// Says that these bytes will be read soon, so that they may be fetched meanwhile.
  virtual void expect(std::uint64_t offset, std::uint64_t length) const = 0;

 protected:
  ByteSource(std::filesystem::path path, std::uint64_t size) : path_(std::move(path)), size_(size) {}

 private:
  const std::filesystem::path path_;
  const std::uint64_t size_;
};

/// How it will be read. Of a file that is read here and there the kernel reads nothing ahead, which may be megabytes.
enum class Access : std::uint8_t { in_order, anywhere };

/// Of a file; open_byte_source() (formats/places/places.hpp) of objects too. Throws Error: io; invalid_argument, where
/// it is no file.
std::shared_ptr<const ByteSource> open_file_source(const std::filesystem::path& path, Access access);

}  // namespace penstock
