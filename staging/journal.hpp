// The journal of a staged copy: it tells which files are complete, so that the next run need not copy them again.
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

/// A file of lines: where the copy comes from, then a line for each file that is whole and durable, or that is durable
/// up to a checkpoint. A line that a crash cut short is ignored. Any number of threads may use it.
class StageJournal {
 public:
  static constexpr std::string_view kFileName = kStageJournal;

  struct Origin {
    std::string source;             ///< absolute path
    std::uint64_t fingerprint = 0;  ///< of the dataset
    friend bool operator==(const Origin&, const Origin&) = default;
  };
  struct Mark {
    std::uint64_t bytes;  ///< of the copy that are durable
    std::uint32_t crc32c;
    bool whole;  ///< and in their place
  };

  /// The origin that a journal tells; nothing when there is none.
  static std::optional<Origin> origin_in(const std::filesystem::path& journal);
  /// Goes on with the journal at `path`, or begins one. A different origin is noted, and from then on is the one.
  /// Throws Error: io.
  StageJournal(std::filesystem::path path, const Origin& origin);

  /// The last mark that says `file`, as it is now in the source, is whole; or its checkpoints, in rising order.
  std::optional<Mark> whole(const StageFile& file) const;
  std::vector<Mark> checkpoints(const StageFile& file) const;
  /// Names of all files that were ever whole.
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
  std::unordered_map<std::string, std::vector<Entry>> entries_;  // as read: not changed by add()
  std::optional<Origin> origin_;
  std::mutex mutex_;  // guards writing to file_
};

}  // namespace penstock
