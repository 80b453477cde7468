// Writes an object sequentially, and computes checksum and stamp of its bytes without reading them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <formats/places/object_store.hpp>

namespace penstock {

/// The object appears complete with finish(), or not at all. For use by one thread at a time.
class ObjectStream {
 public:
  explicit ObjectStream(std::string address);

  /// Waits while earlier parts are still being sent. Throws Error: io, with the address.
  void append(std::span<const std::byte> bytes);
  /// Throws Error: io, also if the length in the store differs from the written length.
  void finish();

  /// Call after finish(). Returns the checksum of all bytes.
  std::uint32_t crc32c() const { return crc_; }
  /// Call after finish(). Returns probe_stamp() of a file with these bytes. For a large object, requests 4 KiB from the
  /// store.
  std::uint64_t stamp() const;

 private:
  std::size_t probe(std::uint64_t offset, std::span<std::byte> into) const;

  const std::string address_;
  std::unique_ptr<ObjectUpload> upload_;
  ObjectInfo info_;  // set by finish()
  std::uint64_t size_ = 0;
  std::uint32_t crc_ = 0;
  std::vector<std::byte> first_, last_;  // first and last bytes
};

}  // namespace penstock
