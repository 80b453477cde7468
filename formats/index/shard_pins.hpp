// Remembers the identities of a shard's files when the dataset was opened, so that later reads accept only the indexed
// files.
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

/// The files of a folder by name: 16 bytes for each, collected by the walk that every open() does.
class FolderPins {
 public:
  void add(std::string_view path, const FileIdentity& file);
  void sort();  ///< call after all are added
  /// Returns false if another file is at `path`: if both the inode and the modification time differ. If only the time
  /// differs, the file may have been touched, or written in place. In both cases its length is all that an index could
  /// compare.
  bool hold(std::string_view path, const FileIdentity& now) const;
  std::uint64_t mark(std::string_view path) const;  ///< mark of its modification time; 0 if there is no such file

 private:
  static std::uint64_t mark_of(const FileIdentity& file);

  std::vector<std::pair<std::uint64_t, std::uint64_t>> marks_;  // sorted by hash of the path
};

/// The files of one shard. Thread-safe.
class ShardPins {
 public:
  struct Options {
    /// Returns whether the shard is the one that the index describes, and its file of that number still has the
    /// identity `now`.
    std::function<bool(const Index& index, std::uint32_t file, const FileIdentity& now)> prove;
    /// True if `prove` compares all bytes. If false, another file in the same place is refused without calling `prove`.
    bool of_content = false;
  };

  /// `files` are in the order of their numbers in the index.
  ShardPins(std::vector<FileIdentity> files, Options options);
  explicit ShardPins(FolderPins folder);

  /// Returns true while the file with that number and path is unchanged. If its identity differs (it was touched,
  /// copied, written, replaced), the shard is validated once for that identity. Throws the errors of the validation.
  bool hold(std::uint32_t file, std::string_view path, const FileIdentity& now, const Index& index) const;
  bool of_folder() const { return !options_.prove; }
  /// Returns true for the pinned file, whether modified or not. Not for folders.
  bool is_same_file(std::uint32_t file, const FileIdentity& now) const;
  /// Returns a number that differs for another state of the file.
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
