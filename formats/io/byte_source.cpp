#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

#include <formats/io/byte_source.hpp>
#include <formats/io/descriptor.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(const std::filesystem::path& path, Descriptor file, std::uint64_t size)
      : ByteSource(path, size), file_(std::move(file)) {}

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) const override {
    return read_at(file_.get(), bytes, offset, path());
  }
  FileIdentity identity() const override { return identity_of(file_.get(), path()); }
  void expect(std::uint64_t offset, std::uint64_t length) const override {
    ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_WILLNEED);
  }

 private:
  Descriptor file_;
};

}  // namespace

std::shared_ptr<const ByteSource> open_file_source(const std::filesystem::path& path, Access access) {
  Descriptor file = Descriptor::open(path, O_RDONLY);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw Error::io(errno, "cannot stat " + path.string());
  if (!S_ISREG(status.st_mode)) throw Error::invalid_argument(path.string() + " is not a file");
  if (access == Access::anywhere) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM);
  return std::make_shared<FileSource>(path, std::move(file), static_cast<std::uint64_t>(status.st_size));
}

}  // namespace penstock
