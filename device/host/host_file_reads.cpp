#include <cerrno>

#include <unistd.h>

#include <device/file_reads.hpp>
#include <device/host/host_device.hpp>
#include <penstock/error.hpp>

namespace penstock {

class HostFile final : public DeviceFile {
 public:
  HostFile(HostDevice& device, int fd) : device_(device), fd_(fd) {}

  std::string bounced() const override { return "the device is a processor"; }

  std::int64_t read(void* memory, std::uint64_t at, std::uint64_t bytes, std::uint64_t offset) const override {
    try {
      device_.begin(HostWork::Kind::file_read, bytes);
    } catch (const std::exception& error) {
      device_.fail(error.what());
    }
    device_.require_sound("read");
    std::int64_t answer = ::pread(fd_, static_cast<std::byte*>(memory) + at, bytes, static_cast<off_t>(offset));
    if (answer < 0) answer = -errno;
    return device_.options_.file_answer ? device_.options_.file_answer(answer) : answer;
  }

 private:
  HostDevice& device_;
  const int fd_;
};

class HostDevice::OwnFileReads final : public FileReads {
 public:
  explicit OwnFileReads(HostDevice& device) : device_(device) {}

  bool wants_direct_io() const override { return false; }
  std::unique_ptr<DeviceFile> open(int fd) override { return std::make_unique<HostFile>(device_, fd); }
  void attach(void* memory, std::uint64_t bytes) noexcept override {
    const std::scoped_lock lock(device_.mutex_);
    device_.attached_.emplace(memory, bytes);
  }
  void detach(void* memory) noexcept override {
    const std::scoped_lock lock(device_.mutex_);
    device_.attached_.erase(memory);
  }

 private:
  HostDevice& device_;
};

std::shared_ptr<FileReads> HostDevice::file_reads() {
  if (!options_.refuse_files.empty()) throw Error::unsupported(to_string(id()) + ": " + options_.refuse_files);
  return std::make_shared<OwnFileReads>(*this);
}

}  // namespace penstock
