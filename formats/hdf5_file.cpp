#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <penstock/formats/crc32c.hpp>
#include <penstock/formats/descriptor.hpp>
#include <penstock/formats/hdf5_file.hpp>

namespace penstock {
namespace {

constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
constexpr std::uint64_t kFirstUserBlock = 512;
constexpr std::size_t kStampBytes = 65536;

std::uint64_t size_of_file(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw Error::io(errno, "cannot stat " + path.string());
  return static_cast<std::uint64_t>(status.st_size);
}

// Superblock version 3 (what "libver latest" and SWMR write) says whether a writer has the file open.
// Source: HDF5 File Format Specification 3.0, II.A "File Consistency Flags".
void refuse_open_for_writing(const std::filesystem::path& path) {
  const std::optional<std::uint64_t> start = hdf5_signature(path);
  if (!start) throw Error::corrupt("no HDF5 signature", {.shard = path.string()});
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  std::array<std::byte, 12> head{};
  const bool whole = read_at(file.get(), head, *start, path) == head.size();
  if (whole && std::to_integer<int>(head[8]) >= 3 && (head[11] & std::byte{0x05}) != std::byte{0}) {
    throw Error::unsupported("marked as open for writing; close its writer, or run `h5clear -s` if that one crashed",
                             {.shard = path.string()});
  }
}

}  // namespace

std::optional<std::uint64_t> hdf5_signature(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  const std::uint64_t size = size_of_file(file.get(), path);
  for (std::uint64_t start = 0; start + kSignature.size() <= size; start = std::max(kFirstUserBlock, start * 2)) {
    std::array<std::byte, kSignature.size()> found{};
    if (read_at(file.get(), found, start, path) != found.size()) break;
    if (std::equal(kSignature.begin(), kSignature.end(), found.begin(),
                   [](unsigned char a, std::byte b) { return std::byte{a} == b; })) {
      return start;
    }
  }
  return std::nullopt;
}

std::uint64_t hdf5_stamp(const std::filesystem::path& path) {
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  const std::uint64_t size = size_of_file(file.get(), path);
  std::vector<std::byte> bytes(kStampBytes);
  const std::size_t front = read_at(file.get(), bytes, 0, path);
  const std::uint64_t first = crc32c(std::span(bytes).first(front));
  const std::size_t back = read_at(file.get(), bytes, size - std::min<std::uint64_t>(size, kStampBytes), path);
  const std::uint32_t last = crc32c(std::span(bytes).first(back));
  return (first << 32 | last) ^ size;
}

// A virtual file driver that reads with pread and writes nothing.
struct Hdf5File::Driver {
  H5FD_t base;  // first: libhdf5 sees the driver as one of these
  int fd;
  std::uint64_t size;
  std::uint64_t end_of_addresses;
  int errnum;  // of the pread that failed, or 0
  bool recording;
  std::optional<Raw> raw;

  static Driver* of(H5FD_t* file) { return reinterpret_cast<Driver*>(file); }
  static const Driver* of(const H5FD_t* file) { return reinterpret_cast<const Driver*>(file); }

  static H5FD_t* open(const char* name, unsigned flags, hid_t, haddr_t) {
    if ((flags & H5F_ACC_RDWR) != 0) return nullptr;
    const int fd = ::open(name, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (fd < 0) return nullptr;
    auto* driver = ::fstat(fd, &status) == 0 ? new (std::nothrow) Driver{} : nullptr;
    if (driver == nullptr) {
      ::close(fd);
      return nullptr;
    }
    driver->fd = fd;
    driver->size = static_cast<std::uint64_t>(status.st_size);
    return &driver->base;
  }
  static herr_t close(H5FD_t* file) {
    const Driver* driver = of(file);
    ::close(driver->fd);
    delete driver;
    return 0;
  }
  // Two openings of one file stay apart, so that nothing of another reader's state is shared.
  static int compare(const H5FD_t* a, const H5FD_t* b) { return a < b ? -1 : static_cast<int>(a > b); }
  static herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_ACCUMULATE_METADATA_READ | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
  }
  static haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) { return of(file)->end_of_addresses; }
  static herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
    of(file)->end_of_addresses = address;
    return 0;
  }
  static haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) { return of(file)->size; }
  static herr_t get_handle(H5FD_t* file, hid_t, void** handle) {
    *handle = of(file);
    return 0;
  }
  static herr_t read(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t size, void* buffer) {
    Driver* driver = of(file);
    if (driver->recording && type == H5FD_MEM_DRAW) {
      driver->raw = Raw{address, size};
      return 0;
    }
    auto* bytes = static_cast<std::byte*>(buffer);
    while (size != 0) {
      const ssize_t got = ::pread(driver->fd, bytes, size, static_cast<off_t>(address));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) driver->errnum = errno;
      if (got <= 0) return -1;
      bytes += got;
      address += static_cast<haddr_t>(got);
      size -= static_cast<std::size_t>(got);
    }
    return 0;
  }
  static herr_t write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) { return -1; }
};

const void* Hdf5File::driver_class() {
  static const H5FD_class_t kClass = [] {
    H5FD_class_t made{};
#ifdef H5FD_CLASS_VERSION  // since 1.14
    made.version = H5FD_CLASS_VERSION;
    made.value = static_cast<H5FD_class_value_t>(H5_VFD_RESERVED + 1);
#endif
    made.name = "penstock";
    made.maxaddr = static_cast<haddr_t>(INT64_MAX);
    made.fc_degree = H5F_CLOSE_STRONG;
    made.open = Driver::open;
    made.close = Driver::close;
    made.cmp = Driver::compare;
    made.query = Driver::query;
    made.get_eoa = Driver::get_eoa;
    made.set_eoa = Driver::set_eoa;
    made.get_eof = Driver::get_eof;
    made.get_handle = Driver::get_handle;
    made.read = Driver::read;
    made.write = Driver::write;  // libhdf5 registers no driver without one
    const std::array<H5FD_mem_t, H5FD_MEM_NTYPES> map = H5FD_FLMAP_DICHOTOMY;
    std::copy(map.begin(), map.end(), made.fl_map);
    return made;
  }();
  return &kClass;
}

Hdf5File::Hdf5File(const std::filesystem::path& path) : path_(path) {
  refuse_open_for_writing(path);
  driver_id_ = handle(H5FDregister(static_cast<const H5FD_class_t*>(driver_class())), "cannot register a driver");
  const Hdf5Handle access = handle(H5Pcreate(H5P_FILE_ACCESS), "cannot make a property list");
  check(H5Pset_driver(access.get(), driver_id_.get(), nullptr), "cannot set the driver");
  file_ = handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "cannot open");
  void* driver = nullptr;
  check(H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, &driver), "cannot reach the driver");
  driver_ = static_cast<Driver*>(driver);
}

Hdf5File::~Hdf5File() = default;

std::uint64_t Hdf5File::size() const {
  return driver_->size;
}

std::optional<Hdf5File::Raw> Hdf5File::read_by(const std::function<void()>& action) const {
  struct Recording {
    Driver& driver;
    explicit Recording(Driver& on) : driver(on) {
      driver.raw.reset();
      driver.recording = true;
    }
    ~Recording() { driver.recording = false; }
  };
  const Recording recording(*driver_);
  action();
  return driver_->raw;
}

Error Hdf5File::failure(std::string what) const {
  const ErrorContext where{.shard = path_.string()};
  if (driver_ != nullptr && driver_->errnum != 0) return Error::io(driver_->errnum, std::move(what), where);
  const std::string message = hdf5_message();
  if (message.find("bad version number") != std::string::npos) {
    return Error::unsupported(what + ": of a newer HDF5 than the library here reads (libhdf5: " + message + ")", where);
  }
  return Error::corrupt(message.empty() ? what : what + " (libhdf5: " + message + ")", where);
}

Hdf5Handle Hdf5File::handle(hid_t id, const std::string& what) const {
  if (id < 0) throw failure(what);
  return Hdf5Handle(id);
}

void Hdf5File::check(int status, const std::string& what) const {
  if (status < 0) throw failure(what);
}

}  // namespace penstock
