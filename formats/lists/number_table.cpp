#include <cerrno>
#include <filesystem>
#include <limits>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <formats/io/descriptor.hpp>
#include <formats/io/temporary_place.hpp>
#include <formats/lists/number_table.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

Descriptor unnamed_file(const std::string& folder) {
  if (const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); fd >= 0) return Descriptor(fd);
  std::string name = (std::filesystem::path(folder) / "penstock-XXXXXX").string();
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) throw Error::io(errno, "cannot make a temporary file in " + folder);
  ::unlink(name.c_str());
  return Descriptor(fd);
}

// Allocates the disk space at once. Otherwise a full disk would raise SIGBUS when a page is written.
void* map_unnamed(std::uint64_t bytes) {
  const std::string folder = temporary_place();
  const Descriptor file = unnamed_file(folder);
  if (const int failure = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); failure != 0)
    throw Error::io(failure, "no room for " + std::to_string(bytes) + " bytes of sample numbers in " + folder);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) throw Error::io(errno, "cannot map a temporary file in " + folder);
  return mapped;
}

}  // namespace

NumberTable::NumberTable(std::uint64_t count, std::uint64_t largest)
    : count_(count), wide_(largest > std::numeric_limits<std::uint32_t>::max()) {
  const std::uint64_t bytes = count * (wide_ ? 8 : 4);
  if (bytes < kInMemory) {
    memory_.resize((bytes + 7) / 8);
    data_ = memory_.data();
  } else {
    data_ = mapped_ = map_unnamed(bytes);
  }
}

NumberTable::~NumberTable() {
  if (mapped_ != nullptr) ::munmap(mapped_, count_ * (wide_ ? 8 : 4));
}

}  // namespace penstock
