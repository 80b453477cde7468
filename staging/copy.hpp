// Copies the files of a dataset that is being staged.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>

#include <penstock/stage_options.hpp>
#include <staging/journal.hpp>
#include <staging/list.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/read_stream.hpp>

namespace penstock {

/// Objects that all workers of one run share.
struct StageWork {
  const Dataset& dataset;
  const StageList& list;
  const StageOptions& options;
  std::filesystem::path folder = {};  ///< the files' names are relative to it while they grow
  StageJournal* journal = nullptr;
  bool trusting = false;  ///< another process has just verified the existing files

  // All relaxed: they are only displayed.
  std::atomic<std::uint64_t> files{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> copied{0};

  std::filesystem::path path_of(const StageFile& file) const { return folder / file.name; }
};

/// Returns the name that the file at `path` has while it grows.
std::filesystem::path growing_name(const std::filesystem::path& path);

/// Returns true if the file exists with the required size and CRC-32C. Reads the file, unless the options skip the
/// comparison. Throws Error: io; resource, "interrupted".
bool is_staged(const StageWork& work, const StageFile& file, const std::stop_token& stop);

/// Copies the files with these numbers and renames them to their final names. All are written before the first is
/// synced, so that one transaction of the file system serves many small files. Throws Error, with dataset, file and
/// offset, like stage().
void copy_files(StageWork& work, std::span<const std::uint32_t> files, ReadEngine& engine, ReadStream& stream,
                const std::stop_token& stop);

}  // namespace penstock
