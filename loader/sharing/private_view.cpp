#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <loader/sharing/changed_pages.hpp>
#include <loader/sharing/private_view.hpp>
#include <penstock/error.hpp>

namespace penstock::sharing {

PrivateView::PrivateView(const UnforkedDescriptor& file, std::uint64_t bytes) : bytes_(bytes) {
  struct stat status {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (bytes == 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file.get(), &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) < bytes)
    throw Error::corrupt("the memory of another process is not what its message says");
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (data == MAP_FAILED) {
    throw Error::resource("cannot map " + std::to_string(bytes) +
                          " bytes of another process: " + std::generic_category().message(errno));
  }
  data_ = static_cast<std::byte*>(data);
}

PrivateView::~PrivateView() {
  ::munmap(data_, bytes_);
}

void PrivateView::forget_changes(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes == 0) return;
  const std::uint64_t begin = offset / kPage * kPage,
                      end = std::min((offset + bytes + kPage - 1) / kPage * kPage, bytes_);
  if (any_changed(data_ + begin, (end - begin + kPage - 1) / kPage))
    ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace penstock::sharing
