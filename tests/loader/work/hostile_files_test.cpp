// Tests files that are not what the index says, or no samples at all: each is one error that names the sample.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include <doctest/doctest.h>
#include <sys/mman.h>

#include "support/loading.hpp"

namespace penstock::test::hostile_files_test {

TEST_CASE("a row of another shape is an error that names both shapes") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 4);
  write_file(folder / "data" / (number_key(2) + ".npy"), npy_file({1, 2}, "(2,)"));
  Loader loader(open(folder / "data"), {.batch_size = 4});
  try {
    loader.next();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::shape);
    CHECK(error.context().key == number_key(2));
    CHECK(error.cause().find("(2,)") != std::string::npos);
    CHECK(error.cause().find("(3,)") != std::string::npos);
  }
}

TEST_CASE("a file that vanished or shrank after it was indexed is one clear error") {
  for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread, EngineKind::io_uring}) {
    const TemporaryFolder folder;
    write_arrays(folder / "data", 8);
    const Dataset dataset = open(folder / "data");
    LoaderOptions options;
    options.batch_size = 4;
    options.read_options.engine = engine;
    options.transforms = {{"npy", array::decode()}};
    Loader sound(dataset, options);
    CHECK(sound.next().has_value());
    std::filesystem::resize_file(folder / "data" / (number_key(1) + ".npy"), 40);
    std::filesystem::remove(folder / "data" / (number_key(6) + ".npy"));
    Loader loader(dataset, options);
    CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains(number_key(1).c_str()), Error);
    try {
      loader.next();
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      CHECK(error.context().key == number_key(6));
    }
  }
}

TEST_CASE("a value larger than memory is an error that names it, with every engine, and other batches come") {
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 39;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    munmap(memory, kBytes);
    MESSAGE("skipped: this system promises more memory than it has");
    return;
  }
  const TemporaryFolder folder;
  write_arrays(folder / "data", 12);
  std::error_code refused;  // a sparse file
  std::filesystem::resize_file(folder / "data" / (number_key(5) + ".npy"), kBytes, refused);
  if (refused) {
    MESSAGE("skipped: no file may be that large here");
    return;
  }
  const Dataset dataset = open(folder / "data");
  for (const EngineKind kind : {EngineKind::in_worker, EngineKind::pread, EngineKind::io_uring, EngineKind::mmap}) {
    for (const bool stored : {false, true}) {
      CAPTURE(name(kind));
      CAPTURE(stored);
      LoaderOptions options;
      options.batch_size = 4;
      options.read_options.engine = kind;
      options.transforms = {{"npy", stored ? raw() : array::decode()}};
      std::optional<Loader> loader;
      try {
        loader.emplace(dataset, options);
      } catch (const Error& error) {
        MESSAGE("skipped: " << error.what());
        continue;
      }
      CHECK(loader->next()->size() == 4);
      try {
        loader->next();
        FAIL("nothing was thrown");
      } catch (const Error& error) {
        CAPTURE(error.what());
        CHECK(error.context().key == number_key(5));
        CHECK(error.context().dataset == (folder / "data").string());
        CHECK((error.kind() == ErrorKind::resource || error.is_data_fault()));
      }
      CHECK(loader->next()->size() == 4);
    }
  }
}

TEST_CASE("images of which none can be decoded are no rows of bytes: the error names the sample") {
  const TemporaryFolder folder;
  for (const std::string& bytes :
       {std::string("GIF89a"), std::string("no image"),
        std::string("\xFF\xD8\xFF\xC3\x00\x0B\x08\x00\x08\x00\x08\x01\x01\x11\x00\xFF\xDA", 17),
        std::string("\xFF\xD8\xFF\xC1\x00\x0B\x0C\x00\x08\x00\x08\x01\x01\x11\x00\xFF\xDA", 17)}) {
    CAPTURE(bytes);
    for (std::uint64_t i = 0; i < 20; ++i) write_file(folder / "data" / (number_key(i) + ".jpg"), bytes);
    for (const OnError policy : {OnError::raise, OnError::replace, OnError::mark}) {
      std::optional<Error> error;
      try {
        Loader loader(open(folder / "data"), {.batch_size = 4, .on_error = policy});
      } catch (const Error& thrown) {
        error = thrown;
      }
      REQUIRE(error.has_value());
      CHECK(error->is_data_fault());
      CHECK(error->context().dataset == (folder / "data").string());
      CHECK(error->context().key == number_key(0));
      CHECK(error->context().field == "jpg");
    }
  }
}

}  // namespace penstock::test::hostile_files_test
