// Packing: the samples come back as they were, in key order, whatever the format and the workers.
#include <fstream>

#include <doctest/doctest.h>

#include "support/loading.hpp"
#include "support/random_samples.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

void write_samples(const std::filesystem::path& folder, const std::vector<MadeSample>& samples) {
  for (const MadeSample& sample : samples) {
    for (const auto& [field, bytes] : sample.fields) write_file(folder / (sample.key + "." + field), bytes);
  }
}

std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[std::filesystem::relative(entry.path(), folder)] = std::string(std::istreambuf_iterator<char>(in), {});
  }
  return files;
}

void check_equal(const Dataset& a, const Dataset& b) {
  REQUIRE(a.size() == b.size());
  CHECK(a.fingerprint() == b.fingerprint());
  for (std::uint64_t sample = 0; sample < a.size(); ++sample) {
    REQUIRE(a.key(sample) == b.key(sample));
    for (std::uint32_t field = 0; field < a.fields().size(); ++field) {
      std::vector<Piece> pieces;
      const auto other = b.field(a.fields()[field].name);
      REQUIRE(other.has_value());
      const bool present = a.locate(sample, field, pieces);
      CHECK(b.locate(sample, *other, pieces) == present);
      if (present) CHECK(read_field(a, sample, field) == read_field(b, sample, *other));
    }
  }
}

}  // namespace

TEST_CASE("a packed dataset reads back byte for byte, and any packing converts into any other") {
  const TemporaryFolder folder;
  write_samples(folder / "source", random_samples(60, 4));
  const Dataset source = open(folder / "source");
  REQUIRE(source.size() == 60);
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    const Dataset copy = packed(source, folder / format, format);
    CHECK(copy.format() == format);
    CHECK(copy.shard_count() > 1);
    check_equal(source, copy);
    for (const std::string& next : written_formats()) {
      check_equal(source, packed(copy, folder / (std::string(format) + "-" + next), next));
    }
  }
}

TEST_CASE("the bytes of a packed dataset do not depend on the number of workers") {
  const TemporaryFolder folder;
  write_samples(folder / "source", random_samples(50, 5));
  const Dataset source = open(folder / "source");
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    for (const unsigned workers : {1U, 4U}) {
      ConvertOptions options;
      options.format = format;
      options.workers = workers;
      options.shard_size = 100'000;
      convert(source, folder / (std::string(format) + std::to_string(workers)), options);
    }
    CHECK(files_of(folder / (std::string(format) + "1")) == files_of(folder / (std::string(format) + "4")));
  }
}

TEST_CASE(
    "interrupted packing leaves no dataset, and resuming gives the bytes of an uninterrupted run, in every packing") {
  const TemporaryFolder folder;
  write_samples(folder / "source", random_samples(60, 6));
  const Dataset source = open(folder / "source");
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    ConvertOptions options;
    options.format = format;
    options.shard_size = 100'000;
    options.workers = 2;
    convert(source, folder / format, options);
    REQUIRE(open(folder / format).shard_count() > 2);
    for (const std::uint64_t stop : {1U, 20U, 45U}) {
      CAPTURE(stop);
      const std::filesystem::path destination = folder / (format + "-cut" + std::to_string(stop));
      CHECK_THROWS_WITH_AS(
          convert(source, destination, options, [&](const ConvertProgress& p) { return p.samples < stop; }),
          doctest::Contains("interrupted"), Error);
      CHECK_THROWS_AS(open(destination), Error);
      ConvertOptions again = options;
      again.resume = true;
      const ConvertResult result = convert(source, destination, again);
      CHECK(result.resumed > 0);
      CHECK(result.resumed + result.samples == source.size());
      CHECK(files_of(destination) == files_of(folder / format));
    }
  }
}

TEST_CASE("labels kept apart become a field, and classes are renumbered by their names") {
  const TemporaryFolder folder;
  for (const char* name : {"cat/1", "cat/2", "dog/3"})
    write_file(folder / "photos" / (std::string(name) + ".npy"), npy_file({1}, "(1,)"));
  write_file(folder / "labels.csv", "file,age\ncat/1.npy,2.5\ncat/2.npy,4\ndog/3.npy,0.5\n");
  const Dataset source = open(folder / "photos");
  REQUIRE(std::vector(source.classes().begin(), source.classes().end()) == std::vector<std::string>{"cat", "dog"});

  ConvertOptions options;
  options.labels = (folder / "labels.csv").string() + ":age";
  convert(source, folder / "aged", options);
  const Dataset aged = open(folder / "aged");
  Loader loader(aged, {.fields = {{"age", array::decode()}}});
  const auto batch = loader.next();
  const auto ages = (*batch)["age"].as<float>();
  CHECK(std::vector(ages.begin(), ages.end()) == std::vector<float>{2.5F, 4.0F, 0.5F});

  ConvertOptions renumber;
  renumber.classes = {"dog", "fox", "cat"};
  convert(source, folder / "renumbered", renumber);
  Loader other(open(folder / "renumbered"), {.fields = {{"cls", label()}}});
  const auto labels = other.next();
  const auto numbers = (*labels)["cls"].as<std::int64_t>();
  CHECK(std::vector(numbers.begin(), numbers.end()) == std::vector<std::int64_t>{2, 2, 0});
  renumber.classes = {"dog"};
  CHECK_THROWS_WITH_AS(convert(source, folder / "never", renumber), doctest::Contains("cat"), Error);
}
