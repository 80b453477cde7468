// The interface of samples that are computed from others, such as blocks of tokens cut from documents. An Index can be
// based on these, so that a Dataset treats them like any other shard.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <formats/extent.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// Every sample has every field. Thread-safe.
class MadeSamples {
 public:
  virtual ~MadeSamples() = default;
  virtual std::uint64_t size() const = 0;
  virtual std::span<const FieldSchema> fields() const = 0;
  virtual std::string_view key(std::uint64_t sample) const = 0;  ///< valid as long as this object
  virtual std::optional<std::uint64_t> find(std::string_view key) const = 0;
  virtual std::uint64_t key_hash() const = 0;  ///< like Index::key_hash()
  /// Appends the pieces of a field to `pieces`. Their files and blocks are numbered as in the dataset of the preceding
  /// shards (Dataset::Shard::borrowed). Inline bytes are valid as long as this object.
  virtual void locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const = 0;
  virtual std::uint64_t length(std::uint64_t sample, std::uint32_t field) const = 0;
};

}  // namespace penstock
