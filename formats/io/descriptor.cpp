#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <formats/io/descriptor.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostPerCall = std::size_t{1} << 30;  // Linux moves at most 2 GiB - 4 KiB per call

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor Descriptor::open(const std::filesystem::path& path, int flags, unsigned mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) throw Error::io(errno, "cannot open " + path.string());
  return Descriptor(fd);
}

std::size_t read_at(int fd, std::span<std::byte> bytes, std::uint64_t offset, const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t wanted = std::min(bytes.size() - done, kMostPerCall);
    const ssize_t got = ::pread(fd, bytes.data() + done, wanted, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error::io(errno, "cannot read " + path.string());
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), std::min(bytes.size(), kMostPerCall));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw Error::io(errno, "cannot write " + path.string());
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void sync(int fd, const std::filesystem::path& path) {
  if (::fsync(fd) != 0) throw Error::io(errno, "cannot fsync " + path.string());
}

}  // namespace penstock
