// Identifies a file and its state, so that a replaced or changed file is noticed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

struct stat;

namespace penstock {

/// Only the system sets the time of the last change (ctime), with each write, rename, chmod and touch. Therefore a file
/// whose modification time was set back still has another identity.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified = 0, changed = 0;  ///< nanoseconds since 1970, by the file system's clock

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

FileIdentity identity_of(const struct stat& status);
/// Throws Error: io, with `path`.
FileIdentity identity_of(int fd, const std::filesystem::path& path);
/// Opens the file, because network file systems then ask their server. Throws Error: io.
FileIdentity identity_of(const std::filesystem::path& path);

/// Uses only stat(): for many files that are already open. Empty if there is no such file.
std::optional<FileIdentity> identity_by_name(const std::filesystem::path& path);

/// Returns how many nanoseconds after `now` a write to the file is certain to change its identity. 0 if a write at
/// `now` would. The clock of a file system advances in steps, so two writes within one step leave the same identity. A
/// step is assumed to be at most 20 ms if the times have fractions of milliseconds, else at most 2 s.
std::int64_t until_settled(const FileIdentity& file, std::int64_t now);

/// Returns the current time in nanoseconds since 1970, as the kernel's file clock shows it. If `touched` can be
/// touched, its file system's clock is read too, and the earlier of both times is returned.
std::int64_t file_clock(const std::filesystem::path& touched);

}  // namespace penstock
