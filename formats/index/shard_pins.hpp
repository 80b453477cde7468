// Remembers what a shard's files were when the dataset was opened, so that only what was indexed is read later.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <formats/index/index.hpp>
#include <formats/io/file_identity.hpp>

namespace penstock {

/// The files of a folder, by name: 16 bytes for each, gathered by the walk that every open() does.
class FolderPins {
 public:
  void add(std::string_view path, const FileIdentity& file);
  void sort();  ///< once all are added
  /// False where another file stands at `path`: one of another inode and another time of modification. One whose times
  /// alone changed may have been touched, or written to in place; its length tells of both all that an index could.
  bool hold(std::string_view path, const FileIdentity& now) const;
  std::uint64_t mark(std::string_view path) const;  ///< of its time of modification; 0 where there is none

 private:
  static std::uint64_t mark_of(const FileIdentity& file);

  std::vector<std::pair<std::uint64_t, std::uint64_t>> marks_;  // by hash of the path
};

/// The files of one shard. Any number of threads may use it.
class ShardPins {
 public:
  struct Options {
    /// Whether the shard is the one that the index tells of, and its file of that number still the one that is `now`.
    std::function<bool(const Index& index, std::uint32_t file, const FileIdentity& now)> prove;
    bool of_content = false;  ///< `prove` compares all bytes; else another file in the same place is refused unasked
  };

  /// Files by their number in the index.
  ShardPins(std::vector<FileIdentity> files, Options options);
  explicit ShardPins(FolderPins folder);

  /// True while the file of that number and path is what it was. Where its identity is another one (it was touched,
  /// copied, written to, replaced), the shard is proved once for that identity. Throws what that throws.
  bool hold(std::uint32_t file, std::string_view path, const FileIdentity& now, const Index& index) const;
  bool of_folder() const { return !options_.prove; }
  /// True for the file that was pinned, in whatever state. Not of a folder.
  bool is_same_file(std::uint32_t file, const FileIdentity& now) const;
  /// Another number for another state of the file.
  std::uint64_t mark(std::uint32_t file, std::string_view path) const;

 private:
  struct Pin {
    FileIdentity good;
    std::optional<FileIdentity> bad = {};
  };

  const FolderPins folder_;
  const Options options_;
  mutable std::mutex mutex_;  // guards pins_
  mutable std::vector<Pin> pins_;
};

}  // namespace penstock
