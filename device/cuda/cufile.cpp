#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <device/cuda/cufile.hpp>
#include <device/cuda/cufile_calls.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using cufile::Status;

constexpr int kNoDriver = 5001, kNotThisPlatform = 5007, kNotThisFile = 5008, kNotThisDevice = 5009, kCudaError = 5011,
              kIoError = 5044;
constexpr int kLinuxDescriptor = 1;
constexpr const char* kDevices = "/run/udev";

std::string describe(Status status) {
  const std::string number = " (" + std::to_string(status.error) + ")";
  switch (status.error) {
    case kNoDriver:
      return "the driver nvidia-fs is not loaded, and compatibility mode is off" + number;
    case kNotThisPlatform:
      return "not supported on this machine" + number;
    case kNotThisFile:
      return "not supported for this file" + number;
    case kNotThisDevice:
      return "not supported on this GPU" + number;
    case kCudaError:
      return "the CUDA driver failed: error " + std::to_string(status.cuda) + number;
    default:
      return "status " + std::to_string(status.error);
  }
}

/// Bits of Properties::supported. Source: CUfileDriverStatusFlags_t in cufile.h.
constexpr unsigned bit(unsigned number) {
  return 1U << number;
}
constexpr unsigned kLocalDisks = bit(4) | bit(5) | bit(6) | bit(7) | bit(8) | bit(11);  // NVMe, NVMe-oF, SCSI, ...

/// Returns the bits that would serve a file system; 0: none. Source of the numbers: statfs(2), and the sources of each
/// file system.
unsigned kinds_of_storage(int fd) {
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return 0;
  switch (static_cast<std::uint32_t>(status.f_type)) {
    case 0xef53:      // ext4
    case 0x58465342:  // XFS
      return kLocalDisks;
    case 0x0bd00bd0:  // Lustre
      return bit(0);
    case 0x18031977:  // WekaFS
      return bit(1);
    case 0x6969:  // NFS
      return bit(2);
    case 0x47504653:  // Spectrum Scale
      return bit(3);
    case 0x19830326:  // BeeGFS
      return bit(9);
    default:
      return 0;
  }
}

/// Returns the reason why cuFile reads a file through host memory; empty if it has a direct path.
std::string reason_to_bounce(const cufile::Calls& call, int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_DIRECT) == 0) return "the file system does not support O_DIRECT";
  cufile::Properties properties{};
  if (const Status status = call.properties(&properties); status.error != 0) return describe(status);
  if (properties.supported == 0) return "cuFile found no driver for direct reads (nvidia-fs)";
  if ((properties.supported & kinds_of_storage(fd)) == 0) return "cuFile has no direct path to this storage";
  return {};
}

class CuFile final : public DeviceFile {
 public:
  CuFile(const cufile::Calls& calls, const InContext& in_context, int fd) : call_(calls), in_context_(in_context) {
    cufile::Descriptor descriptor{.type = kLinuxDescriptor, .of = {.fd = fd}, .operations = nullptr};
    Status status;
    in_context_([&] { status = call_.add_file(&file_, &descriptor); });
    if (status.error != 0) throw Error::unsupported("cuFile: " + describe(status));
    bounced_ = reason_to_bounce(call_, fd);
  }
  ~CuFile() override {
    in_context_([this] { call_.remove_file(file_); });
  }
  CuFile(CuFile&&) = delete;

  std::string bounced() const override { return bounced_; }

  std::int64_t read(void* memory, std::uint64_t at, std::uint64_t bytes, std::uint64_t offset) const override {
    std::int64_t answer = 0;
    int failed = 0;
    in_context_([&] {
      answer = call_.read(file_, memory, bytes, static_cast<off_t>(offset), static_cast<off_t>(at));
      failed = errno;
    });
    if (answer >= 0) return answer;
    if (answer == -1) return failed != 0 ? -failed : -EIO;
    if (answer == -kIoError) return -EIO;
    throw Error::resource("cuFile: read: " + describe({.error = static_cast<int>(-answer)}));
  }

 private:
  const cufile::Calls& call_;
  const InContext& in_context_;
  cufile::Handle file_ = nullptr;
  std::string bounced_;
};

class CuFileReads final : public FileReads {
 public:
  explicit CuFileReads(InContext in_context) : call_(cufile::library().calls), in_context_(std::move(in_context)) {
    // The driver is never closed: other users of cuFile in this process may not count their opens, and closing it ends
    // it for all of them.
    static const Status opened = [this] {
      Status status;
      in_context_([&] { status = call_.open_driver(); });
      return status;
    }();
    if (opened.error != 0) throw Error::unsupported("cuFile: " + describe(opened));
  }

  bool wants_direct_io() const override { return true; }
  std::unique_ptr<DeviceFile> open(int fd) override { return std::make_unique<CuFile>(call_, in_context_, fd); }
  void attach(void* memory, std::uint64_t bytes) noexcept override {
    in_context_([&] { call_.add_memory(memory, bytes, 0); });
  }
  void detach(void* memory) noexcept override {
    in_context_([&] { call_.remove_memory(memory); });
  }

 private:
  const cufile::Calls& call_;
  const InContext in_context_;
};

}  // namespace

LibraryFacts cufile_facts() {
  return cufile::library().facts;
}

std::shared_ptr<FileReads> open_cufile(InContext in_context) {
  if (const std::string& problem = cufile::library().facts.problem; !problem.empty()) throw Error::unsupported(problem);
  // In containers that hide /run/udev cuFile has no direct path, and may hang while it searches for one.
  if (std::getenv(cufile::kVariable) == nullptr && ::access(kDevices, R_OK) != 0) {
    throw Error::unsupported(std::string("cuFile reads ") + kDevices +
                             " to identify disks, but this process cannot read it; set " + cufile::kVariable +
                             " to the path of the cuFile library to try anyway");
  }
  return std::make_shared<CuFileReads>(std::move(in_context));
}

}  // namespace penstock
