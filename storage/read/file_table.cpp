#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/shown_path.hpp>
#include <storage/read/file_table.hpp>

namespace penstock {
namespace {

constexpr rlim_t kKeepOpen = 16384, kKeepOpenOfQuarter = 512;
constexpr std::uint32_t kLargestAlign = 64 << 10;    // larger alignments would read too much around a sample
constexpr std::uint32_t kLargestMemoryAlign = 4096;  // of scratch buffers

std::size_t default_keep_open() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kKeepOpenOfQuarter;
  const rlim_t least = std::clamp<rlim_t>(limit.rlim_cur / 4, 1, kKeepOpenOfQuarter);
  return static_cast<std::size_t>(std::clamp<rlim_t>(limit.rlim_cur / 8, least, kKeepOpen));
}

struct Alignment {
  std::uint32_t memory = 0, offset = 0;
};

// Returns the alignment that O_DIRECT requires for this descriptor; zeros if O_DIRECT must not be used.
Alignment direct_alignment(int fd) {
#ifdef STATX_DIOALIGN
  struct statx status {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 && (status.stx_mask & STATX_DIOALIGN) != 0) {
    if (status.stx_dio_offset_align == 0 || status.stx_dio_offset_align > kLargestAlign ||
        status.stx_dio_mem_align > kLargestMemoryAlign)
      return {};
    // A read may continue at any multiple of the offset alignment, so the memory must suit each of them.
    const std::uint32_t both = std::max(status.stx_dio_mem_align, status.stx_dio_offset_align);
    return {status.stx_dio_mem_align, both};
  }
#endif
  static_cast<void>(fd);
  return {4096, 4096};  // before Linux 6.1 no call reports it; this suits every block device in use
}

}  // namespace

OpenFile::~OpenFile() {
  close(fd);
}

FileTable::FileTable(std::uint32_t count, std::function<DataFile(std::uint32_t)> lookup, FileTableOptions options)
    : count_(count),
      lookup_(std::move(lookup)),
      options_(std::move(options)),
      files_(options_.keep_open != 0 ? options_.keep_open : default_keep_open()) {}

DataFile FileTable::file(std::uint32_t file) const {
  if (file >= count_) throw Error::corrupt("the index names file " + std::to_string(file) + ", which does not exist");
  return lookup_(file);
}

int FileTable::open_flags() const {
  // O_NONBLOCK: without it, opening a named pipe waits for a writer. With it, checked() rejects the pipe at once. The
  // flag has no effect on regular files.
  return O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (options_.direct_io ? O_DIRECT : 0);
}

std::shared_ptr<const OpenFile> FileTable::find_open(std::uint32_t file) {
  const std::lock_guard lock(mutex_);
  return files_.find(file);
}

std::shared_ptr<const OpenFile> FileTable::open(std::uint32_t file) {
  if (auto open = find_open(file)) return open;
  const std::filesystem::path path = this->file(file).path;
  const int fd = ::open(path.c_str(), open_flags());
  if (fd >= 0) return adopt(file, fd, options_.direct_io);
  if (errno == EINVAL && options_.direct_io) return open_buffered(file, true);
  throw Error::io(errno, "cannot open", {.shard = shard(file)});
}

std::shared_ptr<const OpenFile> FileTable::open_buffered(std::uint32_t file, bool keep) {
  const std::filesystem::path path = this->file(file).path;
  const int fd = ::open(path.c_str(), open_flags() & ~O_DIRECT);
  if (fd < 0) throw Error::io(errno, "cannot open", {.shard = shard(file)});
  auto open = checked(file, fd, false);
  return keep ? this->keep(file, std::move(open)) : open;
}

std::shared_ptr<const OpenFile> FileTable::adopt(std::uint32_t file, int fd, bool direct_io) {
  auto open = checked(file, fd, direct_io);
  return open == nullptr ? open_buffered(file, true) : keep(file, std::move(open));
}

// Returns null if O_DIRECT turns out to be unusable.
std::shared_ptr<const OpenFile> FileTable::checked(std::uint32_t file, int fd, bool direct_io) const {
  std::shared_ptr<OpenFile> open;  // closes fd on every path out
  try {
    open = std::make_shared<OpenFile>(fd);
  } catch (...) {
    close(fd);
    throw;
  }
  struct stat status {};
  if (fstat(fd, &status) != 0) throw Error::io(errno, "cannot open", {.shard = shard(file)});
  if (!S_ISREG(status.st_mode)) throw Error::unsupported("not a regular file", {.shard = shard(file)});
  if (options_.check) options_.check(file, identity_of(status));
  const Alignment align = direct_io ? direct_alignment(fd) : Alignment{};
  if (direct_io && align.offset == 0) return nullptr;
  if (options_.random_access && !direct_io) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  open->size = static_cast<std::uint64_t>(status.st_size);
  open->memory_align = align.memory;
  open->offset_align = align.offset;
  return open;
}

std::shared_ptr<const OpenFile> FileTable::keep(std::uint32_t file, std::shared_ptr<const OpenFile> open) {
  std::shared_ptr<const OpenFile> replaced;  // closed after the lock is released
  const std::lock_guard lock(mutex_);
  replaced = files_.keep(file, open);
  return open;
}

void FileTable::take_open_files(FileTable& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  std::swap(files_, other.files_);
}

std::string FileTable::shard(std::uint32_t file) const {
  const std::filesystem::path path = this->file(file).path;
  return options_.root.empty() ? path.string() : shown_path(path, options_.root);
}

Error FileTable::failed(const Extent& extent, int errnum, const char* cause) const {
  return Error::io(errnum, cause, {.shard = shard(extent.file), .offset = extent.offset});
}

Error FileTable::ends_inside(const Extent& extent) const {
  return Error::corrupt("file ends inside the field (" + std::to_string(extent.length) + " bytes expected)",
                        {.shard = shard(extent.file), .offset = extent.offset});
}

}  // namespace penstock
