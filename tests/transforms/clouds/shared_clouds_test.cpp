// Large clouds that several threads decode.
#include <doctest/doctest.h>

#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/laz/laz.hpp>

#include "support/clouds.hpp"
#include "support/laz_files.hpp"
#include "support/parallels.hpp"
#include "support/test_data.hpp"

namespace penstock::test::shared_clouds_test {
namespace {

const FieldSchema kSchema{.name = "laz", .codec = "laz"};

std::vector<std::uint32_t> every(std::uint64_t points, std::uint32_t step) {
  std::vector<std::uint32_t> numbers;
  for (std::uint64_t i = 0; i < points; i += step) numbers.push_back(static_cast<std::uint32_t>(i));
  return numbers;
}

DecodedCloud decoded(const std::vector<std::byte>& bytes, Parallel* parallel, std::vector<std::string> names,
                     const PointChoice& choice = {}, bool attributes = true) {
  const auto decoder = laz_codec().cloud_decoder({.attributes = std::move(names)});
  decoder->share(parallel);
  return decode_cloud(*decoder, {.schema = &kSchema, .bytes = bytes}, choice, attributes);
}

std::string failure(const std::vector<std::byte>& bytes, Parallel* parallel, const PointChoice& choice = {}) {
  try {
    decoded(bytes, parallel, {}, choice);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

// Everything that a decoder is asked for, by threads as by one. Returns how often they were asked to help.
std::uint32_t check_shared(const std::vector<std::byte>& bytes) {
  const std::vector<std::string> all = attribute_names(laz_codec().cloud_decoder({})->open({&kSchema, bytes}));
  const DecodedCloud whole = decoded(bytes, nullptr, all);
  const auto some = every(whole.header.points, 3);
  const PointChoice choice{.all = false, .numbers = some};
  ShuffledThreads threads;
  Backwards backwards;
  for (Parallel* parallel : {static_cast<Parallel*>(&threads), static_cast<Parallel*>(&backwards)}) {
    CHECK(same(decoded(bytes, parallel, all), whole));
    CHECK(same(decoded(bytes, parallel, {}), whole));  // of whose attributes it was not told
    CHECK(decoded(bytes, parallel, {}, {}, false).xyz == whole.xyz);
    CHECK(same(decoded(bytes, parallel, all, choice), chosen(whole, some)));
  }
  return threads.calls;
}

}  // namespace

TEST_CASE("chunks are decoded by several threads to the same points") {
  for (const unsigned format : {0U, 6U}) {
    CAPTURE(format);
    CHECK(check_shared(laz_file({.format = format, .chunks = std::vector<std::uint32_t>(9, 5'000)})) >= 4);
    CHECK(check_shared(laz_file(
              {.format = format, .chunks = {20'000, 1, 2, 3, 400, 30'000, 7'000, 100}, .variable = true})) >= 4);
  }
}

TEST_CASE("chunks of real files are decoded by several threads to the same points") {
  for (const char* folder : {"pointcloud/laz/laspy+laspy", "pointcloud/copc", "pointcloud/trees"}) {
    for (const auto& path : ::test::data_files(folder)) {
      const auto bytes = ::test::read_file(path);
      if (bytes.size() < 200'000 || !laz_codec().recognises(bytes)) continue;
      CAPTURE(path.string());
      check_shared(bytes);
    }
  }
}

TEST_CASE("threads are asked to help with many points in several chunks, and with nothing else") {
  ShuffledThreads threads;
  const std::vector<std::uint32_t> small(3, 10'000);
  decoded(laz_file({.chunks = small}), &threads, {});
  CHECK(threads.calls == 0);  // few points
  decoded(laz_file({.chunks = {60'000}}), &threads, {});
  CHECK(threads.calls == 0);  // one chunk
  const auto several = laz_file({.chunks = std::vector<std::uint32_t>(6, 10'000)});
  const std::vector<std::uint32_t> few{1, 59'999};
  decoded(several, &threads, {"intensity"}, {.all = false, .numbers = few});
  CHECK(threads.calls == 0);  // few of many points: two chunks, of which one is decoded to its second point
  decoded(several, &threads, {"intensity"}, {}, false);
  CHECK(threads.calls == 1);
  CHECK(threads.most_pieces == 6);
  decoded(laz_file({.chunks = std::vector<std::uint32_t>(600, 100)}), &threads, {}, {}, false);
  CHECK(threads.most_pieces == 8);  // small chunks go together
}

TEST_CASE("a broken chunk in the middle gives the error that one thread gives") {
  const std::vector<std::uint32_t> chunks(12, 5'000);
  for (const unsigned format : {0U, 6U}) {
    const auto bytes = laz_file({.format = format, .chunks = chunks, .broken = {5, 7}});
    const std::string alone = failure(bytes, nullptr);
    CHECK(alone.starts_with("corrupt"));
    for (unsigned seed = 0; seed < 10; ++seed) {
      ShuffledThreads threads(4, seed);
      REQUIRE(failure(bytes, &threads) == alone);
      REQUIRE(threads.calls >= 1);
    }
    Backwards backwards;
    CHECK(failure(bytes, &backwards) == alone);
    const std::vector<std::uint32_t> before = every(20'000, 1);
    CHECK(failure(bytes, &backwards, {.all = false, .numbers = before}) == "none");
  }
}

TEST_CASE("a header that counts more points than the chunks hold is refused alike") {
  for (const bool variable : {false, true}) {
    auto bytes = laz_file({.chunks = std::vector<std::uint32_t>(6, 10'000), .variable = variable, .more_points = 1});
    ShuffledThreads threads;
    const std::string alone = failure(bytes, nullptr);
    CHECK(alone.starts_with("corrupt"));
    CHECK(failure(bytes, &threads) == alone);
    put(bytes, 247, std::uint64_t{4'000'000'000});
    CHECK(failure(bytes, &threads) == failure(bytes, nullptr));
    CHECK(failure(bytes, &threads).starts_with("corrupt"));
    CHECK(threads.calls == 0);
  }
}

}  // namespace penstock::test::shared_clouds_test
