// The paths of a copy: the folder where it grows, and the final destination.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <formats/io/file_lock.hpp>
#include <staging/journal.hpp>
#include <staging/list.hpp>

namespace penstock {

/// A dataset of one file grows beside its destination. All others grow in "DESTINATION.partial".
class StageTarget {
 public:
  /// Throws Error: invalid_argument, if the destination is the source or is inside it.
  StageTarget(const StageList& list, const std::filesystem::path& destination);

  const std::filesystem::path& destination() const { return destination_; }
  /// The folder that the files' names are currently relative to.
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path journal() const { return folder_ / journal_name_; }
  bool renamed() const { return renamed_; }  ///< a single file with another name than the source

  /// Locks out other processes that stage to the same destination. Waits for them while `go_on` returns true;
  /// `waited` says whether that happened. Returns nothing if the file system has no locks. Makes the parent folder of
  /// the destination. Throws Error: io; resource, "interrupted".
  std::optional<FileLock> lock(const std::function<bool()>& go_on, bool& waited) const;

  /// Determines where to continue: in the destination, if that is a copy that may be complete, otherwise where the
  /// copy grows. Throws Error: invalid_argument, if the destination is not a copy of `origin` and may not be
  /// replaced.
  void settle(const StageJournal::Origin& origin, bool packed, bool overwrite);
  /// Files are missing: turns a complete copy into a partial one.
  void reopen();
  /// The copy is complete and durable: moves it to the destination.
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
