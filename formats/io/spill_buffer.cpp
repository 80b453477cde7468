#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <formats/io/spill_buffer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMemory = std::size_t{256} << 10;
constexpr std::size_t kRun = std::size_t{4} << 20;  // the page cache keeps long writes in large pages

// Returns whether a file server stores the file. A server copies between two of its files without sending the bytes.
bool is_remote(int fd) {
  constexpr std::uint64_t kNfs = 0x6969, kSmb = 0xFF534D42, kSmb2 = 0xFE534D42;
  struct statfs64 status {};
  if (::fstatfs64(fd, &status) != 0) return false;
  const auto kind = static_cast<std::uint32_t>(status.f_type);
  return kind == kNfs || kind == kSmb || kind == kSmb2;
}

/// Copies the first `count` bytes of a file to `offset` in another one inside the system. Returns the number of copied
/// bytes, fewer if the system cannot copy further.
std::uint64_t copied_by_system(int from, int to, std::uint64_t offset, std::uint64_t count, Writeback& writeback) {
  constexpr std::uint64_t kMostAtOnce = std::uint64_t{8} << 20;
  std::uint64_t done = 0;
  while (done < count) {
    auto source = static_cast<off64_t>(done), target = static_cast<off64_t>(offset + done);
    const ssize_t got = ::copy_file_range(from, &source, to, &target, std::min(kMostAtOnce, count - done), 0);
    if (got <= 0) break;  // also when interrupted: the copy of the rest reports a real error
    done += static_cast<std::uint64_t>(got);
    writeback.advance(to, offset + done);
  }
  return done;
}

}  // namespace

void SpillBuffer::append(std::span<const std::byte> bytes) {
  if (memory_.size() + bytes.size() > kMemory) spill();
  if (bytes.size() > kMemory) {
    write_all(file_.get(), bytes, name_);
    spilled_ += bytes.size();
  } else {
    memory_.insert(memory_.end(), bytes.begin(), bytes.end());
  }
}

void SpillBuffer::spill() {
  if (file_.get() < 0) {
    file_ = Descriptor::open(name_, O_RDWR | O_CREAT | O_EXCL, 0600);
    std::filesystem::remove(name_);
  }
  write_all(file_.get(), memory_, name_);
  spilled_ += memory_.size();
  memory_.clear();
}

void SpillBuffer::drain(const std::function<void(std::span<const std::byte>)>& take) const {
  drain_from(0, take);
}

void SpillBuffer::copy_to(int fd, std::uint64_t offset, const std::filesystem::path& path, Writeback& writeback) const {
  // On local file systems the system would copy page by page. The shard would then occupy small pages, which are slow
  // to map.
  const std::uint64_t done = is_remote(fd) ? copied_by_system(file_.get(), fd, offset, spilled_, writeback) : 0;
  if (::lseek(fd, static_cast<off_t>(offset + done), SEEK_SET) < 0) {
    throw Error::io(errno, "cannot seek in " + path.string());
  }
  std::uint64_t written = offset + done;
  drain_from(done, [&](std::span<const std::byte> run) {
    write_all(fd, run, path);
    written += run.size();
    writeback.advance(fd, written);
  });
}

void SpillBuffer::drain_from(std::uint64_t done, const std::function<void(std::span<const std::byte>)>& take) const {
  std::vector<std::byte> run(std::min<std::uint64_t>(kRun, spilled_ - done));
  while (done < spilled_) {
    const std::span<std::byte> wanted = std::span(run).first(std::min<std::uint64_t>(kRun, spilled_ - done));
    if (read_at(file_.get(), wanted, done, name_) != wanted.size()) {
      throw Error::corrupt("temporary file became shorter", {.shard = name_.string()});
    }
    take(wanted);
    done += wanted.size();
  }
  take(memory_);
}

}  // namespace penstock
