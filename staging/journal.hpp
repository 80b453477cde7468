// The journal of a staged copy. It records which files are complete, so that the next run need not copy them again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <formats/io/descriptor.hpp>
#include <formats/packed/commit.hpp>
#include <staging/list.hpp>

namespace penstock {

/// A file of lines. The first line contains the origin of the copy. Each later line says that a file is complete and
/// durable, or durable up to a checkpoint. A line that a crash truncated is ignored. Thread-safe.
class StageJournal {
 public:
  static constexpr std::string_view kFileName = kStageJournal;

  struct Origin {
    std::string source;             ///< absolute path
    std::uint64_t fingerprint = 0;  ///< of the dataset
    friend bool operator==(const Origin&, const Origin&) = default;
  };
  struct Mark {
    std::uint64_t bytes;  ///< number of durable bytes of the copy
    std::uint32_t crc32c;
    bool whole;  ///< the file is complete and has its final name
  };

  /// Returns the origin in a journal, or nothing if there is none.
  static std::optional<Origin> origin_in(const std::filesystem::path& journal);
  /// Continues the journal at `path`, or starts one. If the origin differs, the new one is recorded and is valid from
  /// then on. Throws Error: io.
  StageJournal(std::filesystem::path path, const Origin& origin);

  /// whole() returns the last mark that says the file is complete, in its present state in the source. checkpoints()
  /// returns its checkpoints in ascending order.
  std::optional<Mark> whole(const StageFile& file) const;
  std::vector<Mark> checkpoints(const StageFile& file) const;
  /// Returns the names of all files that were ever complete.
  std::vector<std::string> names() const;

  void add(const StageFile& file, const Mark& mark);

 private:
  struct Entry {
    std::uint64_t size;
    std::int64_t modified;
    Mark mark;
  };
  void read(const std::string& text);
  void append(const std::string& line);

  std::filesystem::path path_;
  Descriptor file_;
  std::unordered_map<std::string, std::vector<Entry>> entries_;  // as read; add() does not change them
  std::optional<Origin> origin_;
  std::mutex mutex_;  // guards writing to file_
};

}  // namespace penstock
