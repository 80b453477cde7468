// Identifies a file and its state, so that a replaced or changed file is noticed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

struct stat;

namespace penstock {

/// The time of the last change (ctime) is set by the system with each write, rename, chmod and touch, and by nobody
/// else: a file whose modification time was set back differs here all the same.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified = 0, changed = 0;  ///< nanoseconds since 1970, by the file system's clock

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

FileIdentity identity_of(const struct stat& status);
/// Throws Error: io, naming `path`.
FileIdentity identity_of(int fd, const std::filesystem::path& path);
/// Opens the file for it, since network file systems ask their server then. Throws Error: io.
FileIdentity identity_of(const std::filesystem::path& path);

/// By stat alone: of files that are open already, many at a time. Nothing where there is none.
std::optional<FileIdentity> identity_by_name(const std::filesystem::path& path);

/// Nanoseconds after `now` from which on a write to the file gives it another identity; 0 where `now` will do. A file
/// system's clock goes in steps, so a file written twice within one step looks the same after both. Steps are taken to
/// be at most 20 ms where the times have parts of milliseconds, else at most 2 s.
std::int64_t until_settled(const FileIdentity& file, std::int64_t now);

/// Now, as the clock that files are stamped with says, in nanoseconds since 1970. Where `touched` can be touched, its
/// file system's own clock is asked, too, and the earlier of both times taken.
std::int64_t file_clock(const std::filesystem::path& touched);

}  // namespace penstock
