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
  std::uint64_t samples = 0;  ///< samples with the field
  std::uint64_t checked = 0;  ///< those of them that have a stored CRC32C
  std::uint64_t bytes = 0, min_bytes = 0, max_bytes = 0;
  /// Heights and widths of images in `probed` samples spread over the dataset. `probed` is 0 if the field holds no
  /// images.
  std::uint64_t probed = 0, unreadable = 0;
  std::int64_t min_height = 0, median_height = 0, max_height = 0;
  std::int64_t min_width = 0, median_width = 0, max_width = 0;
};

struct DatasetSummary {
  std::string path, format;
  std::string layout;  ///< layout_line()
  bool packed = false;
  std::uint64_t samples = 0, files = 0, shards = 0;
  std::uint64_t bytes = 0;  ///< sum over all files
  std::uint64_t fingerprint = 0;
  std::vector<FieldSummary> fields;
  std::vector<std::string> classes;
  /// left_out()
  std::map<std::string, std::string> left_out;
  /// Reason why nearly all samples lost their labels, although they are in class folders; else empty.
  std::string no_classes;
  std::map<std::string, std::string> costs;  ///< reasons why a field is slow to read, with the remedy
  std::string checksums() const;             ///< "every value", "none", "12 of 2,000 values"
};

/// The text of DatasetSummary::no_classes: "loose.jpg" is not in a class folder.
std::string no_classes(const Dataset& dataset);

/// File system of the first shard, for a report; "store" if the shard is in one. Throws Error: io.
std::string file_system_of(const Dataset& dataset);

/// Reads the index, and the heads of at most `probes` values of each field.
DatasetSummary summarise(const Dataset& dataset, std::uint64_t probes = 64);

std::string to_json(const DatasetSummary& summary);  ///< an object; see `penstock info --json`
std::string to_text(const DatasetSummary& summary);  ///< several lines

}  // namespace penstock
