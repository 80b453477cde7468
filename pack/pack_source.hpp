// A path to pack, opened as a dataset. Files that are compressed as a whole are decompressed first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/open_options.hpp>
#include <penstock/pack.hpp>

namespace penstock {

/// A file that gzip compressed as a whole (`x.tar.gz`, `x.tgz`, TFRecord files with GZIP or ZLIB compression) does not
/// allow random access to its samples. Such files, single, in a pattern or in a folder of shards, are decompressed into
/// a hidden temporary folder. The destructor removes the folder. If the process was killed, the next run with the same
/// location removes it. All other paths are opened directly.
class PackSource {
 public:
  /// Called while compressed files are read, with their sizes in bytes. If it returns false, decompression stops with
  /// Error: resource, "interrupted".
  using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

  /// Decompresses compressed files into a folder inside `options.spool` (default: beside the destination).
  /// `destination` and `options` are those of convert(), so that obstacles to packing are reported before
  /// decompression. Throws Error: invalid_argument, for a destination that convert() would reject; corrupt, naming the
  /// file and the offset; io. Exceptions of `progress` pass through.
  PackSource(std::filesystem::path path, const std::filesystem::path& destination, const ConvertOptions& options,
             const Progress& progress = {});
  ~PackSource();

  /// If `on_error` of the constructor's options is "skip", a table leaves out the rows whose files are missing.
  Dataset open(OpenOptions options, const OpenProgress& progress = {}) const;
  /// Returns `options` with the marks that convert() needs to resume. Decompressed files have the marks of the
  /// compressed ones, so that decompressing again does not look like a change.
  ConvertOptions options(ConvertOptions options) const;
  /// Replaces the path of a decompressed file in `error` with the path that the user gave.
  Error named(const Error& error) const;

 private:
  struct Unpacked;
  std::filesystem::path path_;
  bool skip_missing_;
  std::unique_ptr<Unpacked> unpacked_;  // null if no file is compressed
};

}  // namespace penstock
