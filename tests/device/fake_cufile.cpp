// Replaces libcufile.so.0 in tests: the same calls, by pread into memory of the host.
#include "fake_cufile.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

extern "C" {

FakeCuFile fake_cufile;

/// Of CUDA's stand-in, where the program has it.
[[gnu::weak]] bool fake_cuda_has_context();

struct Answer {
  int error, cuda;
};
constexpr Answer kNoContext{5011, 201};
static bool without_context() {
  return fake_cuda_has_context != nullptr && !fake_cuda_has_context();
}
struct Descriptor {
  int type;
  union {
    int fd;
    void* handle;
  };
  const void* operations;
};
struct File {
  int fd;
};

Answer cuFileDriverOpen() {
  ++fake_cufile.drivers;
  return {0, 0};
}
Answer cuFileDriverGetProperties(void* properties) {
  constexpr std::size_t kSupported = 24;  // behind two versions and two sizes
  std::memset(properties, 0, 56);
  std::memcpy(static_cast<char*>(properties) + kSupported, &fake_cufile.supported, sizeof(unsigned));
  return {0, 0};
}
Answer cuFileHandleRegister(void** file, Descriptor* descriptor) {
  if (descriptor->type != 1 || descriptor->operations != nullptr) return {5022, 0};
  if (without_context()) return kNoContext;
  if (fake_cufile.refuse_files != 0) return {fake_cufile.refuse_files, 0};
  ++fake_cufile.files;
  // Where the file is open past the page cache, the real one takes places and lengths that are not aligned all the
  // same.
  *file = new File{::open(("/proc/self/fd/" + std::to_string(descriptor->fd)).c_str(), O_RDONLY | O_CLOEXEC)};
  return {0, 0};
}
void cuFileHandleDeregister(void* file) {
  --fake_cufile.files;
  ::close(static_cast<File*>(file)->fd);
  delete static_cast<File*>(file);
}
Answer cuFileBufRegister(const void*, std::size_t, int) {
  if (without_context()) return kNoContext;
  ++fake_cufile.memory;
  return {0, 0};
}
Answer cuFileBufDeregister(const void*) {
  --fake_cufile.memory;
  return {0, 0};
}
ssize_t cuFileRead(void* file, void* memory, std::size_t bytes, off_t offset, off_t at) {
  if (without_context()) return -kNoContext.error;
  if (fake_cufile.refuse_reads != 0) return -fake_cufile.refuse_reads;
  if (fake_cufile.errnum != 0) {
    errno = fake_cufile.errnum;
    return -1;
  }
  return pread(static_cast<File*>(file)->fd, static_cast<char*>(memory) + at, bytes, offset);
}
Answer cuFileGetVersion(int* version) {
  *version = 1200;
  return {0, 0};
}

}  // extern "C"
