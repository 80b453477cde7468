// Writes an object from its beginning to its end, and knows what is told of its bytes without reading them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <formats/places/object_store.hpp>

namespace penstock {

/// It appears whole with finish(), or not at all. Used by one thread at a time.
class ObjectStream {
 public:
  explicit ObjectStream(std::string address);

  /// Waits while parts that were sent are not taken yet. Throws Error: io, naming the address.
  void append(std::span<const std::byte> bytes);
  /// Throws Error: io, also where the store has another length than was written.
  void finish();

  /// After finish(): of all its bytes.
  std::uint32_t crc32c() const { return crc_; }
  /// After finish(): as probe_stamp() of a file of these bytes. Of a large one the store is asked for 4 KiB.
  std::uint64_t stamp() const;

 private:
  std::size_t probe(std::uint64_t offset, std::span<std::byte> into) const;

  const std::string address_;
  std::unique_ptr<ObjectUpload> upload_;
  ObjectInfo info_;  // once it is there
  std::uint64_t size_ = 0;
  std::uint32_t crc_ = 0;
  std::vector<std::byte> first_, last_;  // bytes
};

}  // namespace penstock
