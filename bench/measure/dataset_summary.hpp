// Summarises a dataset in numbers, for `penstock info` and for the head of a report.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

struct FieldSummary {
  FieldSchema schema;         ///< an empty codec is replaced by that of the first value
  std::uint64_t samples = 0;  ///< that have the field
  std::uint64_t checked = 0;  ///< of them, with a stored CRC32C
  std::uint64_t bytes = 0, min_bytes = 0, max_bytes = 0;
  /// Heights and widths of images: of `probed` samples spread over the dataset; 0 probed where the field holds none.
  std::uint64_t probed = 0, unreadable = 0;
  std::int64_t min_height = 0, median_height = 0, max_height = 0;
  std::int64_t min_width = 0, median_width = 0, max_width = 0;
};

struct DatasetSummary {
  std::string path, format;
  std::string layout;  ///< layout_line()
  bool packed = false;
  std::uint64_t samples = 0, files = 0, shards = 0;
  std::uint64_t bytes = 0;  ///< of all files
  std::uint64_t fingerprint = 0;
  std::vector<FieldSummary> fields;
  std::vector<std::string> classes;
  /// left_out()
  std::map<std::string, std::string> left_out;
  /// What took the labels of nearly all samples away, which lie in class folders; else empty.
  std::string no_classes;
  std::map<std::string, std::string> costs;  ///< what makes a field slow to read, and the cure
  std::string checksums() const;             ///< "every value", "none", "12 of 2,000 values"
};

/// As DatasetSummary::no_classes: "loose.jpg" lies in no class folder.
std::string no_classes(const Dataset& dataset);

/// That a report names: of the first shard; "store" where that lies in one. Throws Error: io.
std::string file_system_of(const Dataset& dataset);

/// Reads the index, and the heads of at most `probes` values of each field.
DatasetSummary summarise(const Dataset& dataset, std::uint64_t probes = 64);

std::string to_json(const DatasetSummary& summary);  ///< an object; see `penstock info --json`
std::string to_text(const DatasetSummary& summary);  ///< several lines

}  // namespace penstock
