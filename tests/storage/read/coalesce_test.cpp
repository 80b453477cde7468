#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <formats/extent.hpp>
#include <storage/read/coalesce.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock::test::coalesce_test {
namespace {

std::vector<MergedRead> coalesced(std::vector<ReadRequest>& requests, std::uint64_t gap, std::uint64_t bytes) {
  std::vector<MergedRead> reads;
  coalesce(requests, gap, bytes, reads);
  return reads;
}

ReadRequest request(std::uint32_t file, std::uint64_t offset, std::uint64_t length) {
  return {{file, offset, length}, nullptr, 0};
}

}  // namespace

TEST_CASE("requests share a read up to the gap, the length and the file") {
  std::vector<ReadRequest> requests{request(1, 0, 10), request(0, 120, 10), request(0, 0, 100), request(0, 110, 10),
                                    request(0, 200, 10)};
  CHECK(coalesced(requests, 10, 1000) ==
        std::vector<MergedRead>{{0, 0, 130, 0, 3}, {0, 200, 10, 3, 1}, {1, 0, 10, 4, 1}});
  CHECK(coalesced(requests, 9, 1000) ==
        std::vector<MergedRead>{{0, 0, 100, 0, 1}, {0, 110, 20, 1, 2}, {0, 200, 10, 3, 1}, {1, 0, 10, 4, 1}});
  CHECK(coalesced(requests, 1000, 120)[0] == MergedRead{0, 0, 120, 0, 2});
}

TEST_CASE("overlapping requests are read apart, and a long one alone") {
  std::vector<ReadRequest> requests{request(0, 0, 100), request(0, 50, 100), request(0, 0, 100), request(0, 150, 5000)};
  CHECK(coalesced(requests, 1000, 1000).size() == 4);
}

TEST_CASE("no requests make no reads, and a read serves a bounded number") {
  std::vector<ReadRequest> none;
  CHECK(coalesced(none, 10, 10).empty());
  std::vector<ReadRequest> many;
  for (std::uint64_t i = 0; i < 2 * kMergedRequests; ++i) many.push_back(request(0, i, 1));
  CHECK(coalesced(many, 0, 1 << 20).size() == 2);
}

TEST_CASE("whatever the requests, each is in one read, and the reads keep the bounds") {
  std::mt19937_64 random(99);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t gap = random() % 50, bytes = random() % 500;
    std::vector<ReadRequest> requests;
    for (std::uint64_t i = 0; i < random() % 60; ++i)
      requests.push_back({{static_cast<std::uint32_t>(random() % 3), random() % 2000, 1 + random() % 100}, nullptr, i});
    const auto before = requests.size();
    const auto reads = coalesced(requests, gap, bytes);
    REQUIRE(requests.size() == before);
    std::size_t next = 0;
    for (const MergedRead& read : reads) {
      REQUIRE(read.first == next);
      next += read.count;
      REQUIRE((read.count == 1 || read.length <= bytes));
      std::uint64_t end = read.offset;
      for (std::size_t i = read.first; i < next; ++i) {
        const Extent& extent = requests[i].extent;
        REQUIRE(extent.file == read.file);
        REQUIRE(extent.offset >= end);
        REQUIRE(extent.offset - end <= gap);
        end = extent.offset + extent.length;
      }
      REQUIRE(end == read.offset + read.length);
    }
    REQUIRE(next == before);
    std::set<std::uint64_t> tags;
    for (const ReadRequest& r : requests) tags.insert(r.tag);
    REQUIRE(tags.size() == before);
  }
}

}  // namespace penstock::test::coalesce_test
