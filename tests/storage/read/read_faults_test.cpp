// Tests engines under faults: storage that hangs, io_uring refused, files cut while they are mapped.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <support/answers.hpp>
#include <support/engines.hpp>
#include <support/faulty_engine.hpp>
#include <support/mount_namespace.hpp>
#include <support/refuse_uring.hpp>
#include <support/temporary_folder.hpp>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/sigbus_guard.hpp>
#include <formats/extent.hpp>
#include <storage/read/residency.hpp>

#include "support/skip.hpp"

namespace penstock::test::read_faults_test {

using namespace std::chrono_literals;

namespace {

std::vector<DataFile> one_file(const TemporaryFolder& folder, std::size_t size) {
  std::mt19937_64 random(3);
  write_random_file(folder / "shard.bin", size, random);
  return {{folder / "shard.bin", size}};
}

bool wait_until_set(const std::atomic<bool>& flag) {
  for (int i = 0; i < 6000 && !flag; ++i) std::this_thread::sleep_for(10ms);
  return flag;
}

}  // namespace

TEST_CASE("a read that storage does not answer is left behind within the grace time, and answers no more") {
  const TemporaryFolder folder;
  const auto files = one_file(folder, 100000);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    if (under_test.kind != EngineKind::io_uring && under_test.kind != EngineKind::pread) continue;
    CAPTURE(under_test.name);
    std::atomic<bool> stuck{false}, answered{false};
    auto release = std::make_shared<std::promise<void>>();
    auto over = std::make_shared<std::promise<void>>();
    const auto wait = release->get_future().share();
    auto engine = make_engine(
        under_test, files, [&](std::uint64_t, const std::exception_ptr&) { answered = true; },
        [&stuck, wait, over](std::int64_t answer) {
          stuck = true;
          wait.wait();
          over->set_value();
          return answer;
        });
    static std::byte memory[1000];  // the engine may still write to it
    const ReadRequest request{{0, 100, 1000}, memory, 1};
    engine->submit({&request, 1});
    REQUIRE(wait_until_set(stuck));
    CHECK_FALSE(engine->abandoned());
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(engine->stop(50ms));
    CHECK(engine->abandoned());
    CHECK_FALSE(engine->stop(50ms));
    engine.reset();
    CHECK(std::chrono::steady_clock::now() - begin < 30s);
    release->set_value();  // storage answers at last: to nobody
    over->get_future().wait();
    std::this_thread::sleep_for(20ms);
    CHECK_FALSE(answered);
  }
}

TEST_CASE("an engine that is stopped in time abandons nothing") {
  const TemporaryFolder folder;
  for (const EngineUnderTest& under_test : engines_under_test()) {
    auto engine = make_engine(under_test, one_file(folder, 10), [](std::uint64_t, const std::exception_ptr&) {});
    CHECK(engine->stop(kStopGrace));
    CHECK(engine->stop(kStopGrace));
    CHECK_FALSE(engine->abandoned());
  }
}

TEST_CASE("io_uring that the kernel refuses is refused with its errno") {
  for (const int errnum : {EPERM, ENOSYS, ENOMEM}) {
    const std::string refusal = with_uring_refused(errnum, [] { return std::to_string(uring_refusal()); });
    if (refusal == "cannot filter") {
      penstock::test::skip("no seccomp here; use a kernel or container that allows it");
      return;
    }
    CHECK(refusal == std::to_string(errnum));
    const std::string failure = with_uring_refused(errnum, [] {
      try {
        const UringEngine engine(core_over({}, [](std::uint64_t, const std::exception_ptr&) {}), {});
        return std::string("made");
      } catch (const Error& error) {
        return std::string(error.what());
      }
    });
    CHECK(failure.find("i/o: io_uring_setup: ") == 0);
  }
}

TEST_CASE("a mapped copy survives the file being cut under it, and other faults keep their handler") {
  const TemporaryFolder folder;
  const auto files = one_file(folder, 1 << 20);
  const int fd = ::open(files[0].path.c_str(), O_RDONLY | O_CLOEXEC);
  void* mapping = mmap(nullptr, 1 << 20, PROT_READ, MAP_SHARED, fd, 0);
  REQUIRE(mapping != MAP_FAILED);
  std::vector<std::byte> memory(1 << 20);
  CHECK(copy_from_mapping(memory.data(), mapping, 1 << 20));
  std::filesystem::resize_file(files[0].path, 5000);
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(copy_from_mapping(memory.data(), mapping, 1 << 20));
    CHECK(copy_from_mapping(memory.data(), mapping, 4096));
  }
  std::thread([&] { CHECK_FALSE(copy_from_mapping(memory.data(), mapping, 1 << 20)); }).join();

  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {  // anywhere else such a fault ends the process, as it would without the guard
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const volatile char byte = *(static_cast<const volatile char*>(mapping) + 100000);
    _exit(byte == 0 ? 0 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  munmap(mapping, 1 << 20);
  close(fd);
}

TEST_CASE("a file that is cut while the gather engine reads it gives errors, never a crash") {
  const TemporaryFolder folder;
  const auto files = one_file(folder, 4 << 20);
  const EngineUnderTest gather{"mmap", EngineKind::mmap, {}};
  Answers answers;
  auto engine = make_engine(gather, files, answers.collect());
  std::atomic<bool> over{false};
  std::thread cutter([&] {
    for (int i = 0; !over; ++i) std::filesystem::resize_file(files[0].path, i % 2 == 0 ? 0 : 4 << 20);
  });
  std::vector<std::byte> memory(1000);
  std::vector<ReadRequest> requests;
  for (std::uint64_t i = 0; i < 4000; ++i) requests.push_back({{0, i * 1000, 1000}, memory.data(), i});
  for (int round = 0; round < 10; ++round) engine->submit(requests);
  over = true;
  cutter.join();
  CHECK(answers.count() == 40000);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::string failure = answers.failure(i);
    REQUIRE((failure.empty() || failure.find("file ends inside the field") != std::string::npos ||
             failure.find("i/o") != std::string::npos));
  }
}

TEST_CASE("data that was just written is resident, data that was dropped is not") {
  const TemporaryFolder folder;
  const auto files = one_file(folder, 1 << 20);
  FileTable table(1, [&](std::uint32_t) { return files[0]; });
  const std::vector<Extent> extents{{0, 0, 100}, {0, 500000, 1000}, {0, (1 << 20) - 1, 1}};
  CHECK(probe_residency(table, extents).resident());
  const int fd = table.open(0)->fd;
  fdatasync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  const Residency dropped = probe_residency(table, extents);
  CHECK(dropped.probed == 3);
  MESSAGE("after dropping: " << to_string(dropped));
  CHECK_FALSE(probe_residency(table, {}).resident());
  const std::vector<Extent> nowhere{{5, 0, 100}};
  CHECK(probe_residency(table, nowhere).in_memory == 0);
}

TEST_CASE("data in an overlay is resident if the file below it is") {
  const TemporaryFolder folder;
  for (const char* layer : {"lower", "lowest", "merged"}) std::filesystem::create_directory(folder / layer);
  std::mt19937_64 random(3);
  write_random_file(folder / "lower/shard.bin", 1 << 20, random);
  const auto resident = in_mount_namespace([&]() -> std::optional<bool> {
    const std::string layers = "lowerdir=" + (folder / "lower").string() + ":" + (folder / "lowest").string();
    if (::mount("overlay", (folder / "merged").c_str(), "overlay", 0, layers.c_str()) != 0) return std::nullopt;
    FileTable table(1, [&](std::uint32_t) { return DataFile{folder / "merged/shard.bin", 1 << 20}; });
    const std::vector<Extent> extents{{0, 0, 100}, {0, 500000, 1000}, {0, (1 << 20) - 1, 1}};
    return probe_residency(table, extents).resident();
  });
  if (!resident) return skip(kNoMountNamespace);
  CHECK(*resident);
}

TEST_CASE("the faulty engine fails, loses and delays what it is told to") {
  const TemporaryFolder folder;
  const auto files = one_file(folder, 10000);
  const EngineUnderTest direct{"inline", EngineKind::in_worker, {}};
  const auto make = [&](OnRead on_read) { return make_engine(direct, files, std::move(on_read)); };
  std::byte memory[4][100];
  const std::vector<ReadRequest> requests{{{0, 0, 100}, memory[0], 10},
                                          {{0, 100, 100}, memory[1], 11},
                                          {{0, 200, 100}, memory[2], 12},
                                          {{0, 300, 100}, memory[3], 13}};

  Answers failing;
  FaultyEngine fails(make, {.fail_tag = 10, .fail_nth = 1, .fail_offset = 250, .times = 2}, failing.collect());
  fails.submit(requests);
  CHECK(failing.failure(10).find("i/o: cannot read: Input/output error") != std::string::npos);
  CHECK_FALSE(failing.failure(11).empty());
  CHECK(failing.failure(12).empty());  // twice is enough
  CHECK(failing.count() == 4);

  Answers losing;
  FaultyEngine loses(make, {.lose_nth = 2}, losing.collect());
  loses.submit(requests);
  CHECK(losing.count() == 3);
  CHECK_FALSE(loses.stop(10ms));
  CHECK(loses.abandoned());

  Answers late;
  FaultyEngine delays(make, {.fail_file = 0, .corrupt = true, .delay = 30ms}, late.collect());
  const auto begin = std::chrono::steady_clock::now();
  delays.submit(requests);
  CHECK(late.wait_for(4));
  CHECK(std::chrono::steady_clock::now() - begin >= 30ms);
  CHECK(late.failure(13).find("corrupt: file ends inside the field") != std::string::npos);
}

}  // namespace penstock::test::read_faults_test
