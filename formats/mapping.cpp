#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <penstock/formats/descriptor.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/formats/mapping.hpp>

namespace penstock {

Mapping::Mapping(const std::filesystem::path& path) {
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw Error::io(errno, "cannot stat " + path.string());
  if (!S_ISREG(status.st_mode)) throw Error::io(EINVAL, "not a regular file: " + path.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) throw Error::io(errno, "cannot map " + path.string());
  bytes_ = {static_cast<const std::byte*>(address), size};
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace penstock
