// Writes files and folders that appear whole or not at all, and that survive a power cut.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>

namespace penstock {

/// Writes `bytes` to a temporary file beside `path`, fsyncs it, and renames it over `path`, then fsyncs the folder.
/// The temporary file (".NAME.RANDOM.tmp", which must not exist) is removed when anything fails. Throws Error: io,
/// naming `path`.
void write_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// The same with the bytes of all `parts`, one behind the other, and with the permissions `mode` where umask has them.
void write_atomically(const std::filesystem::path& path, std::initializer_list<std::span<const std::byte>> parts,
                      unsigned mode = 0666);
/// The same, and the folder is left to the caller's sync_folder(): the name may be lost in a power cut until then.
void write_synced(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Makes names created, renamed or removed in `folder` durable. Throws Error: io.
void sync_folder(const std::filesystem::path& folder);

/// Renames `from` to `to`, which must not exist, and makes it durable. Throws Error: io.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// Puts the folder `from` in the place of the folder `to` in one step, where the file system can exchange names (else
/// in two). Returns where the folder that stood there is now: at `from`, else beside `to` under a name that nothing
/// else has. Throws Error: io.
std::filesystem::path replace_folder(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace penstock
