// The interface of samples that are computed from others: blocks of tokens cut from documents. An Index may be of
// these, so that a shard of them stands in a Dataset like any other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <formats/extent.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// Every sample has every field. Any number of threads may use it.
class MadeSamples {
 public:
  virtual ~MadeSamples() = default;
  virtual std::uint64_t size() const = 0;
  virtual std::span<const FieldSchema> fields() const = 0;
  virtual std::string_view key(std::uint64_t sample) const = 0;  ///< valid as long as this
  virtual std::optional<std::uint64_t> find(std::string_view key) const = 0;
  virtual std::uint64_t key_hash() const = 0;  ///< as Index::key_hash()
  /// Appends the pieces of a field to `pieces`. Their files and blocks have the numbers that they have in the dataset
  /// whose shards stand in front of this one (Dataset::Shard::borrowed); inline bytes are valid as long as this.
  virtual void locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const = 0;
  virtual std::uint64_t length(std::uint64_t sample, std::uint32_t field) const = 0;
};

}  // namespace penstock
