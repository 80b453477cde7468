// The files of a dataset, opened when they are first read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <base/lru_cache.hpp>
#include <formats/extent.hpp>
#include <formats/io/file_identity.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

namespace penstock {

/// A descriptor, closed with this object.
struct OpenFile {
  explicit OpenFile(int descriptor) : fd(descriptor) {}
  ~OpenFile();
  OpenFile(OpenFile&&) = delete;

  const int fd;
  std::uint64_t size = 0;          ///< bytes, when opened
  std::uint32_t memory_align = 0;  ///< that O_DIRECT asks of buffers
  std::uint32_t offset_align = 0;  ///< and of offsets and lengths; 0 when opened without O_DIRECT
  bool direct_io() const { return offset_align != 0; }
};

struct FileTableOptions {
  std::filesystem::path root = {};  ///< messages name files relative to it
  bool direct_io = false;           ///< O_DIRECT where the file system allows it, file by file
  bool random_access = false;       ///< tells the kernel not to read ahead
  std::size_t keep_open = 0;        ///< descriptors kept; 0: 512, or a quarter of the process's limit if that is less
  /// Throws where a file that was opened is not the one it should be.
  std::function<void(std::uint32_t file, const FileIdentity& now)> check = {};
};

/// Opens files by their number in the dataset. Those used last stay open; a file still being read stays open with its
/// reader. Any number of threads may use it.
class FileTable {
 public:
  /// `lookup` gives path and indexed size of files [0, count); it is called from any thread.
  FileTable(std::uint32_t count, std::function<DataFile(std::uint32_t)> lookup, FileTableOptions options = {});

  /// Throws Error: io (shard); unsupported, for what is not a regular file; corrupt, for a number that is no file; what
  /// the check throws.
  std::shared_ptr<const OpenFile> open(std::uint32_t file);
  std::shared_ptr<const OpenFile> find_open(std::uint32_t file);  ///< null when it would have to be opened
  /// Takes over a descriptor that was opened with open_flags(). Throws as open().
  std::shared_ptr<const OpenFile> adopt(std::uint32_t file, int fd, bool direct_io);
  /// The same file without O_DIRECT, from now on when `keep`, else for this once. Throws as open().
  std::shared_ptr<const OpenFile> open_buffered(std::uint32_t file, bool keep);

  DataFile file(std::uint32_t file) const;      ///< throws Error: corrupt
  int open_flags() const;                       ///< for open(2)
  std::string shard(std::uint32_t file) const;  ///< what messages call the file
  Error failed(const Extent& extent, int errnum, const char* cause = "cannot read") const;
  Error ends_inside(const Extent& extent) const;  ///< corrupt: the file ends before the extent does

 private:
  std::shared_ptr<const OpenFile> checked(std::uint32_t file, int fd, bool direct_io) const;
  std::shared_ptr<const OpenFile> keep(std::uint32_t file, std::shared_ptr<const OpenFile> open);

  std::uint32_t count_;
  std::function<DataFile(std::uint32_t)> lookup_;
  FileTableOptions options_;
  std::mutex mutex_;  // guards files_
  LruCache<OpenFile> files_;
};

}  // namespace penstock
