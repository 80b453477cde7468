// Lists the samples that packing left out, with the cause: skipped.jsonl in the packed dataset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <formats/io/descriptor.hpp>

namespace penstock {

struct SkippedSample {
  std::uint64_t sample;  ///< its number in the source
  std::string key, field, cause;
};

/// One JSON object per line, in the order of keys: {"sample": 17, "key": "cat/0001", "field": "jpg", "cause": "..."}.
/// Invalid UTF-8 is replaced by U+FFFD. The file exists only if it has a line.
class SkipReport {
 public:
  static constexpr std::string_view kFileName = "skipped.jsonl";

  explicit SkipReport(const std::filesystem::path& folder) : path_(folder / kFileName) {}

  /// Drops all but the first `lines` lines of an interrupted run. Throws Error: io; corrupt, if there are fewer.
  void keep(std::uint64_t lines);
  void add(const SkippedSample& sample);
  void sync();
  std::uint64_t lines() const { return lines_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t lines_ = 0;
  bool dirty_ = false;
};

/// Returns the report of the dataset in `folder`. Empty if nothing was left out. Throws Error: io.
std::string read_skip_report(const std::filesystem::path& folder);
std::uint64_t count_lines(std::string_view text);
/// Returns the samples of the report, in its order. Throws Error: corrupt.
std::vector<SkippedSample> skipped_samples(std::string_view text);

}  // namespace penstock
