// The interface of the packings' writers: each takes samples in order, writes one shard and returns its index.
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

/// One field of a sample on its way into a shard. `field` is its position in ShardOptions::fields.
struct FieldValue {
  std::uint32_t field;
  std::span<const std::byte> bytes;
  std::uint32_t crc32c;                            ///< of `bytes`
  std::span<const std::byte> header;               ///< what the codec keeps in the index; may be empty
  std::span<const std::uint32_t> range_sums = {};  ///< as RangeSums has them; empty for values of one range
};

struct ShardOptions {
  std::vector<FieldSchema> fields;  ///< fields of the whole dataset, in the order they are written within a sample
  std::uint64_t align = 1;          ///< the first field's bytes of each sample begin at a multiple of this (tar)
  /// Address of an object that takes the place of the shard's file, for packings that write it from its beginning to
  /// its end (all but HDF5 and LMDB); the others make a file all the same. Empty: a file.
  std::string object = {};
};

/// Writes one shard. Samples come in sample order, from one thread at a time. Nothing it writes depends on the time,
/// the host or the order of fields in a call. Destroying it before finish() leaves an incomplete file for the caller to
/// remove.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;
  /// Throws Error: io (disk full, named by path); unsupported (the format cannot hold this key or value).
  virtual void add(std::string_view key, std::span<const FieldValue> fields) = 0;
  virtual std::uint64_t bytes() const = 0;  ///< size of the shard if it were finished now, approximately
  /// Completes and fsyncs the shard's files; the index's paths are relative to the folder that holds the shard.
  virtual Index finish() = 0;
  /// The object that was written in the file's place; null: it was the file.
  virtual const ObjectStream* object() const { return nullptr; }
};

}  // namespace penstock
