// Writes files and folders that appear complete or not at all, and that survive a power failure.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>

namespace penstock {

/// Writes `bytes` to a temporary file beside `path`, fsyncs it, renames it over `path`, and fsyncs the folder. Removes
/// the temporary file (".NAME.RANDOM.tmp", which must not exist) on failure. A device or a pipe is not replaced: it
/// gets the bytes at once. Throws Error: io, with `path`.
void write_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// The same with the concatenated bytes of `parts`, and with the permissions `mode`, reduced by the umask.
void write_atomically(const std::filesystem::path& path, std::initializer_list<std::span<const std::byte>> parts,
                      unsigned mode = 0666);
/// The same, but the caller must call sync_folder(). Until then a power failure may lose the name.
void write_synced(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Makes created, renamed and removed names in `folder` durable. Throws Error: io.
void sync_folder(const std::filesystem::path& folder);

/// Renames `from` to `to`, which must not exist, and makes the rename durable. Throws Error: io.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// Replaces the folder `to` by the folder `from`: in one step if the file system can exchange names, else in two.
/// Returns the new path of the old folder: `from`, or an unused name beside `to`. Throws Error: io.
std::filesystem::path replace_folder(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace penstock
