#include <cerrno>
#include <cstdlib>
#include <string>
#include <support/engines.hpp>
#include <support/refuse_uring.hpp>
#include <support/temporary_folder.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <penstock/dataset.hpp>
#include <penstock/storage.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/residency.hpp>

#include "support/skip.hpp"

namespace penstock::test::choose_test {
namespace {

// Samples of 1000 bytes in one shard, whose pages are in memory or not.
struct Shard {
  TemporaryFolder folder;
  Dataset dataset;

  Shard() : dataset(make(folder)) {}

  static Dataset make(const TemporaryFolder& folder) {
    std::mt19937_64 random(5);
    write_random_file(folder / "shard.bin", 1 << 20, random);
    IndexBuilder builder;
    const std::uint32_t file = builder.add_file({"shard.bin", 1 << 20, 0});
    const std::uint32_t field = builder.field({.name = "bin", .codec = "raw"});
    for (std::uint64_t i = 0; i < 1000; ++i) {
      builder.add_sample("key" + std::to_string(1000 + i));
      builder.set(field, Extent{file, i * 1000, 1000});
    }
    std::vector<Dataset::Shard> shards;
    shards.push_back({std::move(builder).finish(), folder.path(), "shard.bin"});
    return Dataset(folder.path(), "test", std::move(shards), {}, false);
  }

  bool drop_from_memory() const {  // false where the system keeps the pages all the same
    const int fd = ::open((folder / "shard.bin").c_str(), O_RDONLY | O_CLOEXEC);
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    FileTable table(1, [this](std::uint32_t file) { return dataset.file(file); });
    const Extent middle{0, 500000, 1000};
    return probe_residency(table, {&middle, 1}).in_memory == 0;
  }
};

std::string chosen(const Dataset& dataset, const EngineOptions& options = {}) {
  try {
    const ChosenEngine choice = choose_engine(dataset, options, [](std::uint64_t, const std::exception_ptr&) {});
    return std::string(name(choice.engine->kind())) + ": " + choice.reason;
  } catch (const Error& error) {
    return std::string("refused: ") + error.what();
  }
}

}  // namespace

TEST_CASE("data in memory is read by the workers, other data by io_uring, and by a pread pool where that is refused") {
  unsetenv("PENSTOCK_ENGINE");
  const Shard shard;
  CHECK(chosen(shard.dataset) == "inline: resident: 64 of 64 probed extents in memory");
  CHECK(chosen(shard.dataset, {.rows = true}) ==
        "mmap: rows as they are stored, resident: 64 of 64 probed extents in memory");
  if (!shard.drop_from_memory()) {
    penstock::test::skip("this file system keeps its pages; set TMPDIR to a folder on a disk");
    return;
  }
  if (uring_refusal() == 0) CHECK(chosen(shard.dataset) == "io_uring: storage: 0 of 64 probed extents in memory");
  for (const auto& [errnum, symbol] : {std::pair{EPERM, "EPERM"}, {ENOSYS, "ENOSYS"}, {ENOMEM, "ENOMEM"}}) {
    const std::string text = with_uring_refused(errnum, [&] { return chosen(shard.dataset); });
    CHECK(text == std::string("pread: io_uring refused: ") + symbol + "; 0 of 64 probed extents in memory");
  }
}

TEST_CASE("an engine asked for by name is that one, or an error that says why not") {
  unsetenv("PENSTOCK_ENGINE");
  const Shard shard;
  for (const EngineKind kind : {EngineKind::in_worker, EngineKind::pread, EngineKind::mmap})
    CHECK(chosen(shard.dataset, {.kind = kind}) == std::string(name(kind)) + ": as requested");
  CHECK(chosen(shard.dataset, {.kind = EngineKind::pread, .direct_io = true}) ==
        "pread: as requested; O_DIRECT is not used, because it requires io_uring");
  const std::string refused =
      with_uring_refused(EPERM, [&] { return chosen(shard.dataset, {.kind = EngineKind::io_uring}); });
  CHECK(refused ==
        "refused: invalid argument: the engine io_uring (as requested) is not available: i/o: io_uring_setup: "
        "Operation not "
        "permitted");
}

TEST_CASE("PENSTOCK_ENGINE overrides the automatic choice, and only that") {
  const Shard shard;
  setenv("PENSTOCK_ENGINE", "mmap", 1);
  CHECK(chosen(shard.dataset) == "mmap: PENSTOCK_ENGINE");
  CHECK(chosen(shard.dataset, {.kind = EngineKind::pread}) == "pread: as requested");
  setenv("PENSTOCK_ENGINE", "auto", 1);
  CHECK(chosen(shard.dataset).find("resident") != std::string::npos);
  setenv("PENSTOCK_ENGINE", "gather", 1);
  CHECK(chosen(shard.dataset).find("\"gather\": use mmap") != std::string::npos);
  setenv("PENSTOCK_ENGINE", "turbo", 1);
  CHECK(chosen(shard.dataset).find("unknown read engine \"turbo\"") != std::string::npos);
  unsetenv("PENSTOCK_ENGINE");
}

TEST_CASE("every kind has a name that names it") {
  for (const EngineKind kind :
       {EngineKind::automatic, EngineKind::io_uring, EngineKind::in_worker, EngineKind::pread, EngineKind::mmap})
    CHECK(engine_named(name(kind)) == kind);
  CHECK_THROWS_AS(engine_named(""), Error);
}

TEST_CASE("messages name shards as the dataset does") {
  const Shard shard;
  std::filesystem::remove(shard.folder / "shard.bin");
  std::string text;
  const ChosenEngine choice = choose_engine(shard.dataset, {.kind = EngineKind::in_worker},
                                            [&](std::uint64_t, const std::exception_ptr& failure) {
                                              try {
                                                std::rethrow_exception(failure);
                                              } catch (const Error& error) {
                                                text = error.what();
                                              }
                                            });
  std::byte memory[10];
  const ReadRequest request{{0, 77, 10}, memory, 0};
  choice.engine->submit({&request, 1});
  CHECK(text == "shard.bin: offset 77: i/o: cannot open: No such file or directory");
}

}  // namespace penstock::test::choose_test
