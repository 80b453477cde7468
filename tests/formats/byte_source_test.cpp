// Sources of bytes are read by ranges, tell their length and their state, and refuse what is no file.
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/places/places.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::byte_source_test {
namespace {

void write(const std::filesystem::path& path, const std::string& text, std::ios::openmode how = std::ios::out) {
  std::ofstream(path, how) << text;
}

std::string read(const ByteSource& source, std::uint64_t offset, std::size_t length) {
  std::string text(length, '?');
  text.resize(source.read(offset, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace

TEST_CASE("ranges of a file are read, as far as it goes") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "bytes";
  write(path, "0123456789");
  for (const Access access : {Access::in_order, Access::anywhere}) {
    const auto source = open_byte_source(path, access);
    CHECK(source->path() == path);
    CHECK(source->size() == 10);
    source->expect(2, 100);
    CHECK(read(*source, 2, 3) == "234");
    CHECK(read(*source, 8, 5) == "89");
    CHECK(read(*source, 10, 5).empty());
    CHECK(read(*source, 1000, 5).empty());
  }
  CHECK(first_bytes(path, 4).size() == 4);
  CHECK(first_bytes(path, 40).size() == 10);
}

TEST_CASE("what was opened stays, and a change of it is told") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "bytes";
  write(path, "0123456789");
  const auto source = open_byte_source(path);
  const FileIdentity before = source->identity();
  CHECK(before == identity_of(path));
  write(folder.path() / "other", "abc");
  std::filesystem::rename(folder.path() / "other", path);
  CHECK(read(*source, 0, 3) == "012");
  CHECK_FALSE(source->identity() == identity_of(path));
  const auto grown = open_byte_source(path);
  const FileIdentity short_one = grown->identity();
  write(path, "def", std::ios::app);
  CHECK(grown->size() == 3);
  CHECK(read(*grown, 0, 9) == "abcdef");
  CHECK_FALSE(grown->identity() == short_one);
}

TEST_CASE("what is no file is refused") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(open_byte_source(folder.path()), doctest::Contains("is not a file"), Error);
  CHECK_THROWS_WITH_AS(open_byte_source(folder.path() / "absent"), doctest::Contains("cannot open"), Error);
  CHECK_THROWS_AS(first_bytes(folder.path() / "absent", 3), Error);
}

}  // namespace penstock::test::byte_source_test
