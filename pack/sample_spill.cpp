#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <pack/sample_spill.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kGathered = 64 << 10;  // smaller samples are gathered and written in one call

Descriptor unnamed_file(const fs::path& folder) {
#ifdef O_TMPFILE
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return Descriptor(fd);
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)
    throw Error::io(errno, "cannot make a temporary file in " + folder.string());
#endif
  // Not every network file system supports O_TMPFILE.
  std::string name = (folder / ".penstock-spool-XXXXXX").string();
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.get() < 0) throw Error::io(errno, "cannot make a temporary file in " + folder.string());
  ::unlink(name.c_str());
  return file;
}

fs::path made(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw Error::io(failure.value(), "cannot create " + folder.string());
  return folder;
}

}  // namespace

SampleSpill::SampleSpill(const fs::path& folder) : folder_(folder), file_(unnamed_file(made(folder))) {}

std::uint64_t SampleSpill::append(std::span<const std::span<const std::byte>> parts) {
  std::uint64_t total = 0;
  for (const auto part : parts) total += part.size();
  const std::uint64_t begin = size_.fetch_add(total, std::memory_order_relaxed);
  if (total <= kGathered && parts.size() > 1) {
    std::vector<std::byte> gathered;
    gathered.reserve(total);
    for (const auto part : parts) gathered.insert(gathered.end(), part.begin(), part.end());
    write(gathered, begin);
    return begin;
  }
  std::uint64_t offset = begin;
  for (const auto part : parts) {
    write(part, offset);
    offset += part.size();
  }
  return begin;
}

void SampleSpill::write(std::span<const std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const std::size_t wanted = std::min(bytes.size(), std::size_t{1} << 30);
    const ssize_t put = ::pwrite(file_.get(), bytes.data(), wanted, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw Error::io(errno, "cannot write a temporary file in " + folder_.string());
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
}

fs::path SampleSpill::path() const {
  return "/proc/self/fd/" + std::to_string(file_.get());
}

}  // namespace penstock
