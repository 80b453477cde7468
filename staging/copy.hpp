// Copies the files of a dataset that is staged.
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

/// What all workers of one run share.
struct StageWork {
  const Dataset& dataset;
  const StageList& list;
  const StageOptions& options;
  std::filesystem::path folder = {};  ///< that the files' names start from, while they grow
  StageJournal* journal = nullptr;
  bool trusting = false;  ///< another process has just checked what is there

  // relaxed, all of them: they are only shown
  std::atomic<std::uint64_t> files{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> copied{0};

  std::filesystem::path path_of(const StageFile& file) const { return folder / file.name; }
};

/// The name of the file at `path` while it grows.
std::filesystem::path growing_name(const std::filesystem::path& path);

/// Whether the file is there with the size and the CRC-32C that it must have. Reads it, unless nothing is to be
/// compared. Throws Error: io; resource, "interrupted".
bool is_staged(const StageWork& work, const StageFile& file, const std::stop_token& stop);

/// Copies files with these numbers and renames them to their names. All are written before the first is fsynced, so
/// that one transaction of the file system serves many small files. Throws Error, with the dataset, file and offset: as
/// stage().
void copy_files(StageWork& work, std::span<const std::uint32_t> files, ReadEngine& engine, ReadStream& stream,
                const std::stop_token& stop);

}  // namespace penstock
