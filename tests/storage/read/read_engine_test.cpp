// Tests the contract that every read engine keeps.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <support/answers.hpp>
#include <support/engines.hpp>
#include <support/temporary_folder.hpp>
#include <vector>

#include <doctest/doctest.h>

#include <formats/io/crc32c.hpp>

namespace penstock::test::read_engine_test {
namespace {

struct Files {
  TemporaryFolder folder;
  std::vector<DataFile> files;
  std::vector<std::vector<std::byte>> contents;

  void add(std::size_t size, std::mt19937_64& random) {
    const auto path = folder / ("shard-" + std::to_string(files.size()) + ".bin");
    contents.push_back(write_random_file(path, size, random));
    files.push_back({path, size});
  }
};

// Reads `extents`, each into memory of its own, and checks every byte, and that nothing beside them was written.
void check_reads(const EngineUnderTest& under_test, const Files& data, const std::vector<Extent>& extents,
                 const AnswerFilter& filter = {}, std::size_t keep_open = 0) {
  constexpr std::size_t kGuard = 16;
  constexpr std::byte kUntouched{0xa5};
  Answers answers;
  std::vector<std::vector<std::byte>> memory;
  std::vector<ReadRequest> requests;
  std::vector<ReadSum> sums(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    memory.emplace_back(extents[i].length + 2 * kGuard, kUntouched);
    requests.push_back({.extent = extents[i],
                        .destination = memory.back().data() + kGuard,
                        .tag = i,
                        .streamed = i % 2 == 1,
                        .sum = i % 3 != 0 ? &sums[i] : nullptr});
  }
  auto engine = make_engine(under_test, data.files, answers.collect(), filter, keep_open);
  for (std::size_t at = 0; at < requests.size(); at += 50)
    engine->submit(std::span(requests).subspan(at, std::min<std::size_t>(50, requests.size() - at)));
  REQUIRE(answers.wait_for(requests.size()));
  CHECK(engine->stop(kStopGrace));
  CHECK(answers.count() == requests.size());
  const EngineStats stats = engine->stats();
  CHECK(stats.requests == requests.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent& extent = extents[i];
    CAPTURE(extent.file);
    CAPTURE(extent.offset);
    CAPTURE(extent.length);
    REQUIRE(answers.failure(i) == "");
    REQUIRE(answers.times(i) == 1);
    const auto& content = data.contents[extent.file];
    REQUIRE(std::equal(memory[i].begin() + kGuard, memory[i].end() - kGuard,
                       content.begin() + static_cast<std::ptrdiff_t>(extent.offset)));
    const std::span<const std::byte> read(memory[i].data() + kGuard, extent.length);
    if (sums[i].known) REQUIRE(sums[i].crc32c == crc32c(read));
    const bool copies = under_test.kind == EngineKind::mmap && extent.length != 0;
    REQUIRE(sums[i].known == (copies && i % 2 == 1 && i % 3 != 0));
    REQUIRE(std::count(memory[i].begin(), memory[i].begin() + kGuard, kUntouched) == kGuard);
    REQUIRE(std::count(memory[i].end() - kGuard, memory[i].end(), kUntouched) == kGuard);
  }
}

void some_files(Files& data, std::mt19937_64& random) {
  for (const std::size_t size : {std::size_t{3} << 20, std::size_t{1}, std::size_t{4096}, std::size_t{100001}})
    data.add(size, random);
}

std::vector<Extent> random_extents(const Files& data, std::size_t count, std::mt19937_64& random) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < count; ++i) {
    const auto file = static_cast<std::uint32_t>(random() % data.files.size());
    const std::uint64_t size = data.files[file].size;
    const std::uint64_t offset = random() % size;
    const std::uint64_t most = std::min<std::uint64_t>(size - offset, std::uint64_t{1} << (random() % 18));
    extents.push_back({file, offset, random() % (most + 1)});
  }
  return extents;
}

// Special places of the first file: ends, alignments, neighbours, overlaps, more than one split.
std::vector<Extent> special_extents(const Files& data) {
  const std::uint64_t size = data.files[0].size;
  std::vector<Extent> extents{
      {0, 0, 0},       {0, size, 0},   {0, 0, size},          {0, 0, 1},       {0, size - 1, 1},  {0, 4095, 2},
      {0, 4096, 4096}, {0, 511, 513},  {0, 1, size - 1},      {0, 1048575, 2}, {0, 100, 1048577}, {0, 5000, 100},
      {0, 5000, 100},  {0, 5050, 100}, {0, 1000000, 1048576}, {1, 0, 1},       {2, 0, 4096},      {2, 4096, 0}};
  for (std::uint64_t i = 0; i < 300; ++i) extents.push_back({0, 20000 + i * 100, 100});  // adjacent
  for (std::uint64_t i = 0; i < 300; ++i) extents.push_back({0, 200000 + i * 1000, 7});  // close
  return extents;
}

}  // namespace

TEST_CASE("every engine reads every kind of extent, and writes nowhere else") {
  std::mt19937_64 random(7);
  Files data;
  some_files(data, random);
  std::vector<Extent> extents = special_extents(data);
  for (const Extent& extent : random_extents(data, 500, random)) extents.push_back(extent);
  std::shuffle(extents.begin(), extents.end(), random);
  for (const EngineUnderTest& engine : engines_under_test()) {
    CAPTURE(engine.name);
    check_reads(engine, data, extents);
  }
}

TEST_CASE("aligned extents into aligned memory are read without a detour") {
  std::mt19937_64 random(8);
  Files data;
  some_files(data, random);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    CAPTURE(under_test.name);
    Answers answers;
    auto engine = make_engine(under_test, data.files, answers.collect());
    alignas(4096) static std::byte memory[4][8192];
    std::vector<ReadRequest> requests;
    for (std::uint64_t i = 0; i < 4; ++i) requests.push_back({{0, 65536 * (i + 1), 8192}, memory[i], i});
    engine->submit(requests);
    REQUIRE(answers.wait_for(4));
    for (std::uint64_t i = 0; i < 4; ++i)
      CHECK(std::memcmp(memory[i], data.contents[0].data() + 65536 * (i + 1), 8192) == 0);
  }
}

TEST_CASE("more files than may be kept open are all read") {
  std::mt19937_64 random(9);
  Files data;
  for (std::size_t i = 0; i < 60; ++i) data.add(1 + i * 37, random);
  std::vector<Extent> extents;
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t file = 0; file < 60; ++file) extents.push_back({file, 0, data.files[file].size});
  std::shuffle(extents.begin(), extents.end(), random);
  for (const EngineUnderTest& engine : engines_under_test()) {
    CAPTURE(engine.name);
    check_reads(engine, data, extents, {}, 4);
  }
}

TEST_CASE("answers that the system may give at any time change nothing but the retries") {
  std::mt19937_64 random(10);
  Files data;
  some_files(data, random);
  std::vector<Extent> extents = special_extents(data);
  std::shuffle(extents.begin(), extents.end(), random);
  std::atomic<std::uint64_t> number{0};
  const std::vector<std::pair<const char*, AnswerFilter>> filters{
      {"short reads",
       [&](std::int64_t answer) { return answer > 1 && ++number % 2 != 0 ? answer - answer / 3 : answer; }},
      {"EINTR", [&](std::int64_t answer) { return ++number % 3 == 0 ? -EINTR : answer; }},
      {"EAGAIN", [&](std::int64_t answer) { return number < 4000 && ++number % 64 < 12 ? -EAGAIN : answer; }},
  };
  for (const EngineUnderTest& engine : engines_under_test()) {
    if (engine.kind == EngineKind::mmap) continue;  // no system call reads there
    for (const auto& [name, filter] : filters) {
      CAPTURE(engine.name);
      CAPTURE(name);
      number = 0;
      check_reads(engine, data, extents, filter);
    }
  }
}

TEST_CASE("answers that stay bad become an i/o error of the requests they concern, and never a hang") {
  std::mt19937_64 random(20);
  Files data;
  data.add(5000000, random);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    if (under_test.kind == EngineKind::mmap) continue;
    for (const int errnum : {EAGAIN, EIO}) {
      CAPTURE(under_test.name);
      CAPTURE(errnum);
      Answers answers;
      auto engine = make_engine(under_test, data.files, answers.collect(),
                                [errnum](std::int64_t answer) { return answer == 1234 ? answer : -errnum; });
      std::vector<std::byte> memory(5000000);
      // Two that are merged, one of them good when read alone; a long one; a lone one.
      const std::vector<ReadRequest> requests{{{0, 0, 1234}, memory.data(), 0},
                                              {{0, 2000, 100}, memory.data() + 2000, 1},
                                              {{0, 100000, 3 << 20}, memory.data() + 100000, 2},
                                              {{0, 4999000, 10}, memory.data() + 4999000, 3}};
      engine->submit(requests);
      REQUIRE(answers.wait_for(4));
      const bool alone = !under_test.options.direct_io && (errnum == EIO || under_test.options.merge_bytes == 0);
      if (alone) CHECK(answers.failure(0) == "");
      for (std::uint64_t tag = 1; tag < 4; ++tag) {
        const std::string where = "offset " + std::to_string(requests[tag].extent.offset) + ": i/o: cannot read";
        CHECK(answers.failure(tag).find(where) != std::string::npos);
      }
    }
  }
}

TEST_CASE("EAGAIN is asked again so many times in a row, and counted anew once some bytes have come") {
  std::mt19937_64 random(30);
  Files data;
  data.add(1000, random);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    if (under_test.kind == EngineKind::mmap) continue;
    CAPTURE(under_test.name);
    std::byte memory[1000];
    const ReadRequest request{{0, 0, 1000}, memory, 0};
    std::atomic<unsigned> asked{0};
    const auto answered = [&](const AnswerFilter& filter) {
      asked = 0;
      Answers answers;
      auto engine = make_engine(under_test, data.files, answers.collect(), filter);
      engine->submit({&request, 1});
      REQUIRE(answers.wait_for(1));
      return answers.failure(0);
    };
    CHECK(answered([&](std::int64_t answer) -> std::int64_t {
            const unsigned number = asked++;
            if (number % kAttempts != kAttempts - 1) return -EAGAIN;
            return number < kAttempts ? answer / 2 : answer;
          }) == "");
    CHECK(asked == 2 * kAttempts);
    CHECK(std::equal(memory, memory + 1000, data.contents[0].begin()));
    const unsigned in_vain =
        (under_test.kind == EngineKind::io_uring ? 2 : 1) * kAttempts;  // a ring hands over to pread
    for (const unsigned before : {0U, kAttempts}) {                     // some bytes come with the last of these
      CHECK(answered([&](std::int64_t answer) -> std::int64_t {
              return ++asked == before ? answer / 2 : -EAGAIN;
            }).find("cannot read") != std::string::npos);
      CHECK(asked == before + in_vain);
    }
  }
}

TEST_CASE("a short read is counted as a retry") {
  std::mt19937_64 random(10);
  Files data;
  data.add(1000, random);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    if (under_test.kind == EngineKind::mmap) continue;
    CAPTURE(under_test.name);
    Answers answers;
    bool first = true;
    auto engine = make_engine(under_test, data.files, answers.collect(),
                              [&](std::int64_t answer) { return std::exchange(first, false) ? answer / 2 : answer; });
    std::byte memory[1000];
    const ReadRequest request{{0, 0, 1000}, memory, 1};
    engine->submit({&request, 1});
    REQUIRE(answers.wait_for(1));
    CHECK(answers.failure(1) == "");
    CHECK(engine->stats().retries >= 1);
    CHECK(engine->stats().reads >= 2);
  }
}

TEST_CASE("close requests are read as one by the engines that merge") {
  std::mt19937_64 random(11);
  Files data;
  data.add(200000, random);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    const bool merges = (under_test.kind == EngineKind::io_uring || under_test.kind == EngineKind::pread) &&
                        under_test.options.merge_bytes != 0;
    CAPTURE(under_test.name);
    Answers answers;
    auto engine = make_engine(under_test, data.files, answers.collect());
    std::vector<std::byte> memory(100000);
    std::vector<ReadRequest> requests;
    for (std::uint64_t i = 0; i < 100; ++i) requests.push_back({{0, i * 1500, 1000}, memory.data() + i * 1000, i});
    engine->submit(requests);
    REQUIRE(answers.wait_for(100));
    CHECK(engine->stats().reads == (merges ? 1 : 100));
    CHECK(engine->stats().bytes == 100000);
  }
}

TEST_CASE("a file cut short is corrupt, with shard and offset, and its whole fields are still read") {
  std::mt19937_64 random(12);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    for (const std::uint64_t left : {0u, 1u, 999u, 4096u, 99999u}) {
      CAPTURE(under_test.name);
      CAPTURE(left);
      Files data;
      data.add(100000, random);
      std::filesystem::resize_file(data.files[0].path, left);
      Answers answers;
      auto engine = make_engine(under_test, data.files, answers.collect());
      std::vector<std::byte> memory(100000);
      std::vector<ReadRequest> requests;
      for (std::uint64_t i = 0; i < 100; ++i) requests.push_back({{0, i * 1000, 1000}, memory.data() + i * 1000, i});
      engine->submit(requests);
      REQUIRE(answers.wait_for(100));
      for (std::uint64_t i = 0; i < 100; ++i) {
        const bool whole = (i + 1) * 1000 <= left;
        const std::string failure = answers.failure(i);
        if (whole)
          REQUIRE(failure == "");
        else
          REQUIRE(failure.find("shard-0.bin: offset " + std::to_string(i * 1000) +
                               ": corrupt: file ends inside the field") != std::string::npos);
      }
    }
  }
}

TEST_CASE("a long extent that the file's end cuts is one error") {
  std::mt19937_64 random(13);
  Files data;
  data.add((2 << 20) + 5, random);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    CAPTURE(under_test.name);
    Answers answers;
    auto engine = make_engine(under_test, data.files, answers.collect());
    std::vector<std::byte> memory(4 << 20);
    const ReadRequest request{{0, 3, 4 << 20}, memory.data(), 9};
    engine->submit({&request, 1});
    REQUIRE(answers.wait_for(1));
    engine->stop(kStopGrace);
    CHECK(answers.count() == 1);
    CHECK(answers.failure(9).find("offset 3: corrupt: file ends inside the field") != std::string::npos);
  }
}

TEST_CASE("extents that no file can hold, and file numbers that no file has, are corrupt") {
  std::mt19937_64 random(14);
  Files data;
  data.add(1000, random);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    CAPTURE(under_test.name);
    Answers answers;
    auto engine = make_engine(under_test, data.files, answers.collect());
    std::byte memory[16];
    const std::uint64_t most = ~std::uint64_t{0};
    const std::vector<ReadRequest> requests{{{0, most - 3, 16}, memory, 0},
                                            {{0, most / 2, 16}, memory, 1},
                                            {{0, 2000, 16}, memory, 2},
                                            {{7, 0, 16}, memory, 3},
                                            {{7, most, 16}, memory, 4}};
    engine->submit(requests);
    REQUIRE(answers.wait_for(5));
    for (std::uint64_t tag = 0; tag < 5; ++tag) CHECK(answers.failure(tag).find("corrupt: ") != std::string::npos);
    CHECK(answers.failure(3).find("file 7") != std::string::npos);
  }
}

TEST_CASE("a missing file is an i/o error of each of its fields, a folder in its place is unsupported") {
  std::mt19937_64 random(15);
  Files data;
  for (int i = 0; i < 4; ++i) data.add(5000, random);
  std::filesystem::remove(data.files[1].path);
  std::filesystem::remove(data.files[2].path);
  std::filesystem::create_directory(data.files[2].path);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    CAPTURE(under_test.name);
    Answers answers;
    auto engine = make_engine(under_test, data.files, answers.collect());
    std::vector<std::byte> memory(8 * 1000);
    std::vector<ReadRequest> requests;
    for (std::uint32_t i = 0; i < 8; ++i)
      requests.push_back({{i / 2, 1000 * (i % 2), 1000}, memory.data() + 1000 * i, i});
    engine->submit(requests);
    REQUIRE(answers.wait_for(8));
    CHECK(answers.failure(0) == "");
    CHECK(answers.failure(7) == "");
    CHECK(answers.failure(3).find("shard-1.bin: offset 1000: i/o: cannot open: No such file") != std::string::npos);
    CHECK(answers.failure(4).find("shard-2.bin: offset 0: unsupported: not a regular file") != std::string::npos);
  }
}

TEST_CASE("an engine that is destroyed with requests in flight returns at once and answers no more") {
  std::mt19937_64 random(16);
  Files data;
  for (int i = 0; i < 3; ++i) data.add(1 << 20, random);
  for (const EngineUnderTest& under_test : engines_under_test()) {
    CAPTURE(under_test.name);
    std::vector<std::byte> memory(128 << 10);
    for (int round = 0; round < 250; ++round) {
      std::atomic<bool> over{false};
      std::atomic<int> late{0};
      std::vector<ReadRequest> requests;
      for (std::uint64_t i = 0; i < 128; ++i)
        requests.push_back(
            {{static_cast<std::uint32_t>(random() % 3), random() % 1000000, 1000}, memory.data() + 1024 * i, i});
      {
        auto engine =
            make_engine(under_test, data.files, [&](std::uint64_t, const std::exception_ptr&) { late += over; });
        engine->submit(std::span(requests).first(64));
        if (round % 2 == 0) engine->submit(std::span(requests).last(64));
        if (round % 4 == 1) std::this_thread::yield();
        CHECK(engine->stop(kStopGrace));
        over = true;
      }
      REQUIRE(late == 0);
    }
  }
}

}  // namespace penstock::test::read_engine_test
