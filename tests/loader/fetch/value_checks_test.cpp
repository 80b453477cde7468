// Which parts of values are read to be checked, and what is read again.
#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/descriptor.hpp>
#include <loader/fetch/value_checks.hpp>
#include <loader/prepare.hpp>
#include <transforms/program/program.hpp>

#include "support/folder_store.hpp"
#include "support/loading.hpp"
#include "support/skip.hpp"

namespace penstock::test::value_checks_test {
namespace {

Dataset one_long_value(const TemporaryFolder& folder, std::uint64_t length) {
  std::string value(length, '\0');
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 7 + i / 251);
  write_file(folder / "data" / "a.bin", value);
  return packed(open(folder / "data"), folder / "packed", "tar");
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> numbers(const std::vector<ByteRange>& ranges) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  for (const ByteRange& range : ranges) all.emplace_back(range.begin, range.end);
  return all;
}

bool in_memory(const std::filesystem::path& path, std::uint64_t offset) {
  constexpr std::uint64_t kPage = 4096;
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  void* page = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file.get(), static_cast<off_t>(offset / kPage * kPage));
  REQUIRE(page != MAP_FAILED);
  unsigned char told = 0;
  REQUIRE(::mincore(page, kPage, &told) == 0);
  ::munmap(page, kPage);
  return (told & 1) != 0;
}

}  // namespace

TEST_CASE("parts of a value are read as whole ranges with a checksum, and all of it where they are in no order") {
  constexpr std::uint64_t kLength = 200'000, kRange = RangeSums::kRange;
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  const TemporaryFolder folder;
  const Dataset dataset = one_long_value(folder, kLength);
  LoaderOptions options;
  options.transforms = {{"bin", raw()}};
  const Program program = compiled(dataset, options);
  ValueChecks checks(dataset, program, Checksums::first);
  std::vector<ByteRange> widened;
  const auto widen = [&](const std::vector<ByteRange>& ranges) {
    checks.widen(0, 0, kLength, ranges, widened);
    return numbers(widened);
  };
  CHECK(widen({{10, 20}, {150'000, 150'010}}) == Ranges{{0, kRange}, {2 * kRange, 3 * kRange}});
  CHECK(widen({{10, 20}, {kRange - 1, kRange + 1}}) == Ranges{{0, 2 * kRange}});
  CHECK(widen({{199'000, kLength}}) == Ranges{{3 * kRange, kLength}});
  CHECK(widen({{150'000, 150'010}, {10, 20}}) == Ranges{{0, kLength}});
  CHECK(widen({{150'000, 150'010}, {10, 20}, {199'000, 199'001}}) == Ranges{{0, kLength}});
  checks.range_done(dataset.range_sums(0, 0).first);
  CHECK(widen({{10, 20}}).empty());
  CHECK(widen({{10, 20}, {150'000, 150'010}}) == Ranges{{10, 20}, {2 * kRange, 3 * kRange}});
  CHECK(widen({{150'000, 150'010}, {10, 20}}) == Ranges{{0, kLength}});
}

TEST_CASE("what is read again comes from storage: pages that the system keeps are forgotten first") {
  constexpr std::uint64_t kLength = 16 << 20;
  const TemporaryFolder folder;
  const Dataset dataset = one_long_value(folder, kLength);
  std::vector<Piece> pieces;
  REQUIRE(dataset.locate(0, 0, pieces));
  const std::filesystem::path path = dataset.file(pieces.at(0).extent.file).path;
  const std::uint64_t last = pieces[0].extent.offset + kLength - 8192;
  const auto value = read_field(dataset, 0, 0);
  REQUIRE(in_memory(path, last));
  {
    const Descriptor file = Descriptor::open(path, O_RDONLY);
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  if (in_memory(path, last)) return skip("this file system keeps its pages; set TMPDIR to a folder on a disk");
  CHECK(read_field(dataset, 0, 0) == value);
  REQUIRE(in_memory(path, last));
  const auto again = read_again(dataset, 0, 0, 100, 1000);
  CHECK(std::ranges::equal(again, std::span(value).subspan(100, 1000)));
  CHECK_FALSE(in_memory(path, last));
}

TEST_CASE("what came wrong from a store is asked of it again, and told if it comes wrong twice") {
  const TemporaryFolder folder;
  FolderStore store(folder / "store");
  std::filesystem::create_directories(folder / "store" / "bucket");
  const Dataset local = one_long_value(folder, 50'000);
  std::filesystem::copy(folder / "packed", folder / "store" / "bucket" / "packed",
                        std::filesystem::copy_options::recursive);
  const Dataset dataset = open("s3://bucket/packed");
  REQUIRE(dataset.in_store());
  std::vector<Piece> pieces;
  REQUIRE(dataset.locate(0, 0, pieces));
  const auto file = store.file_of(dataset.stored_object(pieces.at(0).extent.file)->address);
  const auto flip = [&] {  // as nobody can see by the object's version
    const Descriptor written = Descriptor::open(file, O_RDWR);
    struct stat found {};
    REQUIRE(::fstat(written.get(), &found) == 0);
    char byte = 0;
    const auto at = static_cast<off_t>(pieces[0].extent.offset + 1234);
    REQUIRE(::pread(written.get(), &byte, 1, at) == 1);
    byte = static_cast<char>(byte ^ 4);
    REQUIRE(::pwrite(written.get(), &byte, 1, at) == 1);
    const std::array<timespec, 2> times{found.st_atim, found.st_mtim};
    REQUIRE(::futimens(written.get(), times.data()) == 0);
  };
  LoaderOptions options;
  options.batch_size = 1;
  options.publish = false;
  options.checksums = Checksums::always;
  options.transforms = {{"bin", raw()}};
  for (const bool twice : {false, true}) {
    CAPTURE(twice);
    flip();
    std::atomic<int> ranges = 0;
    store.before = [&](const std::string& verb, const std::string&) {
      if (verb == "range" && ++ranges == 2 && !twice) flip();
    };
    {
      Loader loader(dataset, options);
      if (twice) {
        CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("they were read twice"), Error);
      } else {
        const auto batch = loader.next();
        REQUIRE(batch.has_value());
        const auto whole = read_field(local, 0, 0);
        CHECK(std::ranges::equal(std::as_bytes((*batch)["bin"].as<std::uint8_t>()), whole));
        CHECK(loader.stats().checks.mismatches == 1);
      }
    }
    store.before = {};  // no loader reads any more
  }
}

}  // namespace penstock::test::value_checks_test
