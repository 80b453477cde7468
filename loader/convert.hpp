// Packing: a loader whose consumer is a DatasetWriter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <penstock/formats/dataset.hpp>
#include <penstock/loader/stats.hpp>

namespace penstock {

struct ConvertOptions {
  std::string format = "tar";
  std::uint64_t shard_size = std::uint64_t{256} << 20;
  std::uint64_t align = 1;
  std::string labels;                ///< "FILE" or "FILE:COLUMN": labels kept apart, see formats/labels.hpp
  std::vector<std::string> classes;  ///< names that class indexes must follow; empty: the source's own
  unsigned workers = 0;
  bool overwrite = false, resume = false;
  bool skip_bad = false;  ///< leave out samples that cannot be read, and count them; otherwise the first raises
};

struct ConvertProgress {
  std::uint64_t samples, total_samples, bytes;
};

struct ConvertResult {
  std::uint64_t samples = 0, bytes = 0, skipped = 0, resumed = 0;
  std::vector<BadSample> bad;
};

/// Packs `source` into `destination`, samples in bytewise order of their keys. The bytes written depend on the source
/// and the options alone. `progress` is called often; when it returns false packing stops with Error: resource,
/// "interrupted", and the partial folder stays for `resume`.
ConvertResult convert(const Dataset& source, const std::filesystem::path& destination, const ConvertOptions& options,
                      const std::function<bool(const ConvertProgress&)>& progress = {});

}  // namespace penstock
