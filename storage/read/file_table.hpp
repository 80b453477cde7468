// Opens the files of a dataset when they are first read.
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

/// A file descriptor, closed together with this object.
struct OpenFile {
  explicit OpenFile(int descriptor) : fd(descriptor) {}
  ~OpenFile();
  OpenFile(OpenFile&&) = delete;

  const int fd;
  std::uint64_t size = 0;          ///< in bytes, when it was opened
  std::uint32_t memory_align = 0;  ///< alignment of buffers that O_DIRECT requires
  std::uint32_t offset_align = 0;  ///< alignment of offsets and lengths; 0 if opened without O_DIRECT
  bool direct_io() const { return offset_align != 0; }
};

struct FileTableOptions {
  std::filesystem::path root = {};  ///< messages name files relative to this folder
  bool direct_io = false;           ///< O_DIRECT if the file system supports it, per file
  bool random_access = false;       ///< disables the kernel's read-ahead
  /// Open descriptors. 0: an eighth of the process's limit, at most 16,384, but a quarter of it up to 512.
  std::size_t keep_open = 0;
  /// Throws if an opened file is not the indexed one.
  std::function<void(std::uint32_t file, const FileIdentity& now)> check = {};
};

/// Opens files by their number in the dataset, and keeps the most recently used ones open. A file that is being read
/// stays open until its reader releases it. Thread-safe.
class FileTable {
 public:
  /// `lookup` returns path and indexed size of files [0, count). Any thread may call it.
  FileTable(std::uint32_t count, std::function<DataFile(std::uint32_t)> lookup, FileTableOptions options = {});

  /// Throws Error: io (shard); unsupported, if it is not a regular file; corrupt, if the number is out of range; or the
  /// exception of the check.
  std::shared_ptr<const OpenFile> open(std::uint32_t file);
  std::shared_ptr<const OpenFile> find_open(std::uint32_t file);  ///< null if it is not open
  /// Takes ownership of a descriptor that was opened with open_flags(). Throws as open().
  std::shared_ptr<const OpenFile> adopt(std::uint32_t file, int fd, bool direct_io);
  /// Returns the file opened without O_DIRECT: from now on if `keep`, otherwise only for this call. Throws as open().
  std::shared_ptr<const OpenFile> open_buffered(std::uint32_t file, bool keep);

  /// Exchanges the open files with `other`, which has the same files and options.
  void take_open_files(FileTable& other);

  DataFile file(std::uint32_t file) const;      ///< throws Error: corrupt
  int open_flags() const;                       ///< for open(2)
  std::string shard(std::uint32_t file) const;  ///< name of the file in messages
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
