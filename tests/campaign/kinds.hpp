// Makes the datasets that trials begin with: small ones of every packing and every sort of value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <penstock/loader.hpp>

namespace penstock::campaign {

inline constexpr std::uint64_t kSeed = 7;    ///< of every loader
inline constexpr std::uint64_t kEpochs = 2;  ///< 0 and 1

/// Hashes of the rows that an untouched dataset delivers: (epoch, key) -> one hash over all outputs.
using Rows = std::map<std::pair<std::uint64_t, std::string>, std::uint64_t>;

/// The hash over all outputs of one row.
std::uint64_t row_hash(const Batch& batch, std::uint32_t row);

/// One way to load a dataset of that content.
struct Variant {
  std::string name;
  std::vector<FieldChain> fields;
  Rows expected;
};

/// A dataset on disk, copied for each trial.
struct Kind {
  std::string name;              ///< "tar arrays", "foreign tar"
  std::filesystem::path folder;  ///< what is copied
  std::string opens;             ///< what to open, relative to the copy
  bool covered = false;          ///< every value has a CRC-32C in an index that has one too
  std::vector<Variant> variants;
};

/// Makes them all below `folder`. The same bytes in every run.
std::vector<Kind> make_kinds(const std::filesystem::path& folder);

}  // namespace penstock::campaign
