// What penstock asks of cuFile, and makes of its answers: with a library in cuFile's place, which reads into memory of
// the host. The real one is tested by cuda_test.cpp, on a GPU.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <device/cuda/cufile.hpp>
#include <device/file_reads.hpp>
#include <penstock/error.hpp>

#include "fake_cufile.hpp"
#include "support/skip.hpp"

using namespace penstock;

namespace {

/// The knobs of the library that cuFile's calls are found in.
FakeCuFile& fake() {
  static FakeCuFile* const found = [] {
    ::setenv("PENSTOCK_CUFILE", PENSTOCK_FAKE_CUFILE, 1);
    void* const library = ::dlopen(PENSTOCK_FAKE_CUFILE, RTLD_NOW | RTLD_LOCAL);
    return static_cast<FakeCuFile*>(::dlsym(library, "fake_cufile"));
  }();
  return *found;
}

/// A file of the bytes 0, 1, 2, ... without a name.
struct Numbers {
  Numbers() : fd(::open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    std::vector<unsigned char> bytes(256);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
    written = ::pwrite(fd, bytes.data(), bytes.size(), 0);
  }
  ~Numbers() { ::close(fd); }
  const int fd;
  ssize_t written = 0;
};

std::shared_ptr<FileReads> opened(int& entered) {
  fake();
  return open_cufile([&entered](const std::function<void()>& work) {
    ++entered;
    work();
  });
}

}  // namespace

TEST_CASE("cuFile is found where the environment says, and told with its version") {
  fake();
  const LibraryFacts facts = cufile_facts();
  CHECK(facts.problem.empty());
  CHECK(facts.version == "1.20");
  CHECK(facts.library == PENSTOCK_FAKE_CUFILE);
}

TEST_CASE("files are read to their place, in the device's context, and everything is given back") {
  int entered = 0;
  const Numbers numbers;
  CHECK(numbers.written == 256);
  {
    const auto reads = opened(entered);
    const auto again = opened(entered);
    CHECK(fake().drivers == 1);
    CHECK(reads->wants_direct_io());
    std::vector<unsigned char> memory(64, 255);
    reads->attach(memory.data(), memory.size());
    CHECK(fake().memory == 1);
    const auto file = reads->open(numbers.fd);
    CHECK(fake().files == 1);
    CHECK(file->read(memory.data(), 10, 20, 100) == 20);
    CHECK(memory[9] == 255);
    CHECK(memory[10] == 100);
    CHECK(memory[29] == 119);
    CHECK(memory[30] == 255);
    CHECK(file->read(memory.data(), 0, 20, 250) == 6);
    CHECK(file->read(memory.data(), 0, 20, 256) == 0);
    CHECK(entered >= 6);
    reads->detach(memory.data());
  }
  CHECK(fake().files == 0);
  CHECK(fake().memory == 0);
}

TEST_CASE("what the system refuses is told by its number, what cuFile refuses is an error with its reason") {
  int entered = 0;
  const Numbers numbers;
  const auto reads = opened(entered);
  const auto file = reads->open(numbers.fd);
  char byte = 0;
  fake().errnum = EIO;
  CHECK(file->read(&byte, 0, 1, 0) == -EIO);
  fake().errnum = 0;
  fake().refuse_reads = 5044;
  CHECK(file->read(&byte, 0, 1, 0) == -EIO);
  fake().refuse_reads = 5011;
  CHECK_THROWS_AS(file->read(&byte, 0, 1, 0), Error);
  fake().refuse_reads = 0;
  fake().refuse_files = 5008;
  try {
    reads->open(numbers.fd);
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);
    CHECK(error.cause() == "cuFile: not supported for this file (5008)");
  }
  fake().refuse_files = 0;
}

TEST_CASE("bytes go directly only where O_DIRECT, a driver and the kind of storage are all there") {
  int entered = 0;
  const Numbers numbers;
  const auto reads = opened(entered);
  const auto bounced = [&] { return reads->open(numbers.fd)->bounced(); };
  CHECK(bounced() == "the file system does not support O_DIRECT");
  if (::fcntl(numbers.fd, F_SETFL, O_DIRECT) != 0) {
    penstock::test::skip("no O_DIRECT here; set TMPDIR to a folder on a disk");
    return;
  }
  CHECK(bounced() == "cuFile found no driver for direct reads (nvidia-fs)");
  fake().supported = 1U << 30;
  CHECK(bounced() == "cuFile has no direct path to this storage");
  fake().supported = ~0U;
  const std::string here = bounced();
  CHECK((here.empty() || here == "cuFile has no direct path to this storage"));
  MESSAGE("with every driver: " << (here.empty() ? "direct" : here));
  fake().supported = 0;
}
