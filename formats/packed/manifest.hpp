// Reads and writes penstock.json, the description of a packed dataset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/schema.hpp>

namespace penstock {

/// One shard at the end of packing.
struct ManifestShard {
  std::string name;           ///< "shard-000000.tar"
  std::uint64_t samples = 0;  ///< in this shard
  std::uint64_t bytes = 0;    ///< total size of its files
  std::uint32_t crc32c = 0;   ///< of the concatenated content of its files
  std::uint32_t index = 0;    ///< CRC32C of the first 64 bytes of its .idx, which contain the checksums of the rest
  friend bool operator==(const ManifestShard&, const ManifestShard&) = default;
};

struct Manifest {
  static constexpr int kVersion = 1;
  static constexpr std::string_view kFileName = "penstock.json";
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << 30;  ///< limit for reading from a store

  std::string format;
  std::uint64_t samples = 0;
  std::vector<FieldSchema> fields;
  std::vector<std::string> classes;
  std::vector<ManifestShard> shards;
  std::string made_with = "{}";  ///< JSON of the options that determined the bytes
  friend bool operator==(const Manifest&, const Manifest&) = default;

  std::string to_json() const;  ///< deterministic: equal manifests give the same text
  /// Throws Error: corrupt (not a manifest); unsupported (a later version).
  static Manifest from_json(std::string_view text);
};

/// Converts one shard's entry to a line of JSON text, and back. The journal of an unfinished dataset holds these lines.
std::string to_json(const ManifestShard& shard);
/// Throws Error: corrupt.
ManifestShard shard_from_json(std::string_view text);

/// Compares two JSON objects of options. Throws Error: invalid_argument, with the first option that differs: "WHAT:
/// NAME was OLD, now NEW".
void require_same_options(std::string_view before, std::string_view now, const std::string& what);

/// "shard-000000.tar" -> "shard-000000.idx"
std::filesystem::path index_name(const std::filesystem::path& shard);

}  // namespace penstock
