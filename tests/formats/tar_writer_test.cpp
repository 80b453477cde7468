#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/tar/names.hpp>
#include <formats/tar/tar.hpp>
#include <formats/tar/writer.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::tar_writer_test {
namespace {

const std::vector<FieldSchema> kFields{
    {.name = "cls", .codec = "cls"}, {.name = "bin", .codec = ""}, {.name = "seg.png", .codec = "png"}};

struct Sample {
  std::string key;
  std::vector<std::string> values;  ///< of the first fields of kFields
};

Index write(const std::filesystem::path& path, const std::vector<Sample>& samples, std::uint64_t align = 1,
            bool backwards = false) {
  const auto writer = kTar.write(path, {.fields = kFields, .align = align});
  for (const Sample& sample : samples) {
    std::vector<FieldValue> values;
    for (std::uint32_t field = 0; field < sample.values.size(); ++field) {
      const auto bytes = test::bytes_of(sample.values[field]);
      values.push_back({.field = field, .bytes = bytes, .crc32c = crc32c(bytes), .header = {}});
    }
    if (backwards) std::reverse(values.begin(), values.end());
    writer->add(sample.key, values);
  }
  const std::uint64_t bytes = writer->bytes();
  Index index = writer->finish();
  CHECK(bytes == std::filesystem::file_size(path));
  return index;
}

void check_same(const std::filesystem::path& path, const Index& index, const std::vector<Sample>& samples) {
  const std::string bytes = test::read_file(path);
  std::vector<Piece> pieces;
  REQUIRE(index.size() == samples.size());
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    CAPTURE(samples[i].key);
    for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
      const bool there = index.locate(i, field, pieces);
      CHECK(there == (field < samples[i].values.size()));
      if (!there) continue;
      const Extent extent = pieces.at(0).extent;
      CHECK(bytes.substr(extent.offset, extent.length) == samples[i].values[field]);
    }
  }
}

std::vector<Sample> awkward_samples() {
  std::mt19937 random(7);
  std::vector<Sample> samples;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{511}, std::size_t{512}, std::size_t{513},
                                 std::size_t{1} << 20, (std::size_t{1} << 20) + 1}) {
    std::string content(size, '\0');
    for (char& c : content) c = static_cast<char>(random());
    samples.push_back({"size/" + std::to_string(size), {std::to_string(size), content, "png"}});
  }
  for (const std::size_t length :
       {90U, 95U, 96U, 97U, 99U, 100U, 101U, 155U, 156U, 251U, 252U, 253U, 255U, 256U, 300U, 5000U}) {
    samples.push_back({"flat-" + std::string(length - 5, 'k'), {"1", "flat"}});
    std::string nested = "nested";
    while (nested.size() < length) nested += nested.size() % 17 == 0 ? '/' : 'n';
    if (nested.back() == '/') nested.back() = 'e';
    samples.push_back({nested + "#", {"2", "nested"}});
  }
  samples.push_back({"caf\xC3\xA9/\xE6\xB0\xB4", {"3", "utf-8"}});
  samples.push_back({"not utf-8 \xFF\xFE", {"4"}});
  samples.push_back({"with blank and = and\nnewline", {"5", "x"}});
  return samples;
}

}  // namespace

TEST_CASE("what was packed reads back byte for byte, from the writer's index and from the archive alone") {
  const TemporaryFolder folder;
  const std::vector<Sample> samples = awkward_samples();
  const Index written = write(folder / "s.tar", samples);
  check_same(folder / "s.tar", written, samples);
  const Index scanned = kTar.index(folder / "s.tar", folder.path(), {});
  check_same(folder / "s.tar", scanned, samples);
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    CHECK(written.key(i) == samples[i].key);
    CHECK(scanned.key(i) == samples[i].key);
    CHECK(written.crc32c(i, 0) == crc32c(test::bytes_of(samples[i].values[0])));
  }
  CHECK(written.file(0) == scanned.file(0));
}

TEST_CASE("keys with dots keep their name in the index and come back one to one, percent-encoded, from the archive") {
  const TemporaryFolder folder;
  const std::vector<Sample> samples{{"v1.2", {"0"}},    {"v1%2E2", {"1"}},    {".hidden", {"2"}}, {"a.b/c", {"3"}},
                                    {"/root/x", {"4"}}, {"../up/./x", {"5"}}, {"50%", {"6"}},     {"%", {"7"}},
                                    {"%252E", {"8"}},   {"./x", {"9"}},       {"x", {"10"}}};
  const Index written = write(folder / "s.tar", samples);
  const Index scanned = kTar.index(folder / "s.tar", folder.path(), {});
  check_same(folder / "s.tar", scanned, samples);
  const std::vector<std::string> names{"v1%2E2", "v1%252E2", "%2Ehidden", "a.b/c", "%2Froot/x", "%2E%2E/up/%2E/x",
                                       "50%",    "%",        "%25252E",   "%2E/x", "x"};
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    CHECK(written.key(i) == samples[i].key);
    CHECK(scanned.key(i) == names[i]);
  }
}

TEST_CASE("a key or field that no member can be named by is refused, and leaves nothing behind") {
  const TemporaryFolder folder;
  const auto writer =
      kTar.write(folder / "s.tar", {.fields = {{.name = "cls", .codec = "cls"}, {.name = "", .codec = ""}}});
  const FieldValue first{.field = 0, .bytes = {}, .crc32c = 0, .header = {}};
  const FieldValue unnamed{.field = 1, .bytes = {}, .crc32c = 0, .header = {}};
  for (const std::string& key : {std::string(), std::string("folder/"), std::string("a\0b", 3)}) {
    CHECK_THROWS_AS(writer->add(key, {&first, 1}), Error);
  }
  CHECK_THROWS_AS(writer->add("a", {&unnamed, 1}), Error);
  writer->add("a", {&first, 1});
  CHECK_THROWS_AS(writer->add("a", {&first, 1}), Error);
  CHECK(writer->finish().size() == 1);
  CHECK(kTar.index(folder / "s.tar", folder.path(), {}).size() == 1);
}

TEST_CASE("with align, the first field of each sample begins at a multiple of it, and nothing else changes") {
  const TemporaryFolder folder;
  const std::vector<Sample> samples = awkward_samples();
  for (const std::uint64_t align : {512U, 1024U, 4096U, 65536U}) {
    const std::string name = std::to_string(align) + ".tar";
    const Index index = write(folder / name, samples, align);
    check_same(folder / name, index, samples);
    check_same(folder / name, kTar.index(folder / name, folder.path(), {}), samples);
    std::vector<Piece> pieces;
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      REQUIRE(index.locate(i, 0, pieces));
      CHECK(pieces[0].extent.offset % align == 0);
    }
  }
  for (const std::uint64_t align : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{1} << 21}) {
    CHECK_THROWS_AS(kTar.write(folder / "bad.tar", {.fields = kFields, .align = align}), Error);
  }
}

TEST_CASE("equal samples give equal bytes, whatever the order of fields in a call") {
  const TemporaryFolder folder;
  write(folder / "a.tar", awkward_samples(), 4096);
  write(folder / "b.tar", awkward_samples(), 4096, true);
  CHECK(test::read_file(folder / "a.tar") == test::read_file(folder / "b.tar"));
}

TEST_CASE("a disk that takes no more is an i/o error that names the file") {
  const TemporaryFolder folder;
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const struct rlimit full { .rlim_cur = 3 << 20, .rlim_max = before.rlim_max };
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
  std::string cause;
  try {
    write(folder / "s.tar", {{"a", {std::string(2 << 20, 'a')}}, {"b", {std::string(2 << 20, 'b')}}});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::io);
    cause = error.what();
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(cause.find((folder / "s.tar").string()) != std::string::npos);
}

}  // namespace penstock::test::tar_writer_test
