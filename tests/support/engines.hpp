// Makes every read engine over plain files, for the suites that all of them must pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <storage/read/gather_engine.hpp>
#include <storage/read/in_worker_engine.hpp>
#include <storage/read/pread_engine.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/uring/uring_engine.hpp>

namespace penstock::test {

/// An engine to test: its kind, and how it is set up.
struct EngineUnderTest {
  const char* name;
  EngineKind kind;
  EngineOptions options;
};

inline std::vector<EngineUnderTest> engines_under_test() {
  std::vector<EngineUnderTest> engines{
      {"inline", EngineKind::in_worker, {}},
      {"mmap", EngineKind::mmap, {}},
      {"pread, 4 threads", EngineKind::pread, {.threads = 4}},
      {"pread, nothing merged", EngineKind::pread, {.threads = 2, .merge_gap_bytes = 0, .merge_bytes = 0}},
  };
  if (uring_refusal() != 0) return engines;
  engines.push_back({"io_uring", EngineKind::io_uring, {}});
  engines.push_back({"io_uring, two rings of depth 3", EngineKind::io_uring, {.threads = 2, .depth = 3}});
  engines.push_back({"io_uring, O_DIRECT", EngineKind::io_uring, {.direct_io = true}});
  engines.push_back({"io_uring, O_DIRECT, depth 1, nothing merged",
                     EngineKind::io_uring,
                     {.direct_io = true, .depth = 1, .merge_gap_bytes = 0, .merge_bytes = 0}});
  return engines;
}

inline std::shared_ptr<EngineCore> core_over(std::vector<DataFile> files, OnRead on_read,
                                             FileTableOptions options = {}) {
  const auto count = static_cast<std::uint32_t>(files.size());
  return std::make_shared<EngineCore>(
      count, [files = std::move(files)](std::uint32_t file) { return files.at(file); }, options, std::move(on_read));
}

inline std::unique_ptr<ReadEngine> make_engine(const EngineUnderTest& engine, std::vector<DataFile> files,
                                               OnRead on_read, AnswerFilter filter = {}, std::size_t keep_open = 0) {
  auto core = core_over(std::move(files), std::move(on_read),
                        {.direct_io = engine.options.direct_io, .random_access = true, .keep_open = keep_open});
  switch (engine.kind) {
    case EngineKind::in_worker:
      return std::make_unique<InWorkerEngine>(std::move(core), std::move(filter));
    case EngineKind::mmap:
      return std::make_unique<GatherEngine>(std::move(core));
    case EngineKind::pread:
      return std::make_unique<PreadEngine>(std::move(core), engine.options, std::move(filter));
    default:
      return std::make_unique<UringEngine>(std::move(core), engine.options, std::move(filter));
  }
}

/// A file of `size` random bytes.
inline std::vector<std::byte> write_random_file(const std::filesystem::path& path, std::size_t size,
                                                std::mt19937_64& random) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
  return bytes;
}

}  // namespace penstock::test
