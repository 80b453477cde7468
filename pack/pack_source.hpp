// A path that is to be packed, as a dataset: files that are compressed as a whole are unpacked first.
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

/// Samples of a file that gzip compressed as a whole (`x.tar.gz`, `x.tgz`, TFRecord files of compression GZIP or ZLIB)
/// cannot be read in any order. Such a file, those of a pattern, and those of a folder of shards are unpacked into a
/// hidden folder of their own; it is removed with this object, or by the next one there where the process is killed.
/// Anything else is opened as it is.
class PackSource {
 public:
  /// Is told of the bytes of compressed files; when it returns false, unpacking stops with Error: resource,
  /// "interrupted".
  using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

  /// Unpacks what is compressed, into a folder inside `options.spool` (empty: beside the destination). `destination`
  /// and `options` are those of convert(), so that what is in the way of packing is known before. Throws Error:
  /// invalid_argument, as convert() does of its destination; corrupt, naming the file and the offset; io; and what
  /// `progress` throws.
  PackSource(std::filesystem::path path, const std::filesystem::path& destination, const ConvertOptions& options,
             const Progress& progress = {});
  ~PackSource();

  Dataset open(const OpenOptions& options, const OpenProgress& progress = {}) const;
  /// `options` with what convert() must know of this source to resume: unpacked files are as old as they were.
  ConvertOptions options(ConvertOptions options) const;
  /// `error` of packing what open() returned: where it names an unpacked file, it names the one that was given.
  Error named(const Error& error) const;

 private:
  struct Unpacked;
  std::filesystem::path path_;
  std::unique_ptr<Unpacked> unpacked_;  // none where nothing is compressed
};

}  // namespace penstock
