// The paths of a copy: the folder where it grows, and the destination that it is renamed to.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <formats/io/file_lock.hpp>
#include <staging/journal.hpp>
#include <staging/list.hpp>

namespace penstock {

/// A dataset of one file grows beside its place, every other one in "DESTINATION.partial".
class StageTarget {
 public:
  /// Throws Error: invalid_argument, when the destination is the source, or lies in it.
  StageTarget(const StageList& list, const std::filesystem::path& destination);

  const std::filesystem::path& destination() const { return destination_; }
  /// The folder that the files' names start from, as things stand.
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path journal() const { return folder_ / journal_name_; }
  bool renamed() const { return renamed_; }  ///< a single file, whose name is not the source's

  /// Keeps other processes that stage here away, or waits for them while `go_on` returns true. `waited` tells whether
  /// one was here. Nothing where there are no locks. Makes the folder above the destination.
  /// Throws Error: io; resource, "interrupted".
  std::optional<FileLock> lock(const std::function<bool()>& go_on, bool& waited) const;

  /// Finds out where to go on: in the destination, where it is a copy that may be complete, else where it grows.
  /// Throws Error: invalid_argument, when what stands there is no copy of `origin`, and may not be replaced.
  void settle(const StageJournal::Origin& origin, bool packed, bool overwrite);
  /// Something is missing: a complete copy becomes a partial one.
  void reopen();
  /// The copy is whole and durable: it takes its place.
  void commit(bool overwrite) const;

 private:
  [[noreturn]] void refuse(const std::filesystem::path& what, const std::string& why) const;
  void require_of(const StageJournal::Origin& origin, const std::filesystem::path& folder) const;
  void clear_partial() const;

  const StageList& list_;
  std::filesystem::path destination_, partial_, folder_, journal_name_;
  bool renamed_ = false;
};

}  // namespace penstock
