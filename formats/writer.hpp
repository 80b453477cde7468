// The interface of the writers of all formats. A writer receives samples in order, writes one shard and returns its
// index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/index/index.hpp>
#include <formats/streams/object_stream.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// One field of a sample that is written into a shard. `field` is its position in ShardOptions::fields.
struct FieldValue {
  std::uint32_t field;
  std::span<const std::byte> bytes;
  std::uint32_t crc32c;                            ///< of `bytes`
  std::span<const std::byte> header;               ///< the codec's data for the index; may be empty
  std::span<const std::uint32_t> range_sums = {};  ///< as in RangeSums; empty for values of one range
};

struct ShardOptions {
  std::vector<FieldSchema> fields;  ///< fields of the whole dataset, in their order within a sample
  std::uint64_t align = 1;          ///< the first field's bytes of each sample begin at a multiple of this (tar)
  /// Address of an object that is written instead of the shard's file. Only formats that write a shard from beginning
  /// to end use it (all except HDF5 and LMDB). The others write a file in any case. Empty: a file.
  std::string object = {};
};

/// Writes one shard. Samples arrive in sample order, from one thread at a time. The output does not depend on the time,
/// the host or the order of fields in a call. If destroyed before finish(), it leaves an incomplete file, which the
/// caller removes.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;
  /// Throws Error: io (disk full, with the path); unsupported (the format cannot hold this key or value).
  virtual void add(std::string_view key, std::span<const FieldValue> fields) = 0;
  virtual std::uint64_t bytes() const = 0;  ///< approximate size of the shard if it were finished now
  /// Completes and fsyncs the shard's files. Paths in the returned index are relative to the folder that holds the
  /// shard.
  virtual Index finish() = 0;
  /// The object that was written instead of the file. Null if a file was written.
  virtual const ObjectStream* object() const { return nullptr; }
};

}  // namespace penstock
