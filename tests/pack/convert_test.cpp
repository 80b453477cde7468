// Tests packing: the samples come back as they were, in key order, whatever the format and the workers.
#include <fstream>

#include <doctest/doctest.h>

#include <transforms/recode/jpeg_recoder.hpp>

#include "support/encoded.hpp"
#include "support/loading.hpp"
#include "support/random_samples.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::convert_test {
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
  Loader loader(aged, {.transforms = {{"age", array::decode()}}});
  const auto batch = loader.next();
  const auto ages = (*batch)["age"].as<float>();
  CHECK(std::vector(ages.begin(), ages.end()) == std::vector<float>{2.5F, 4.0F, 0.5F});

  ConvertOptions renumber;
  renumber.classes = {"dog", "fox", "cat"};
  convert(source, folder / "renumbered", renumber);
  Loader other(open(folder / "renumbered"), {.transforms = {{"cls", label()}}});
  const auto labels = other.next();
  const auto numbers = (*labels)["cls"].as<std::int64_t>();
  CHECK(std::vector(numbers.begin(), numbers.end()) == std::vector<std::int64_t>{2, 2, 0});
  renumber.classes = {"dog"};
  CHECK_THROWS_WITH_AS(convert(source, folder / "never", renumber), doctest::Contains("cat"), Error);
}

namespace {

// 200 values of 2,000 bytes, each of its number and a version.
void write_values(const std::filesystem::path& folder, int from, int to, char version) {
  for (int i = from; i < to; ++i)
    write_file(folder / (std::to_string(1000 + i) + ".bin"), std::to_string(i) + std::string(1995, version));
}

ConvertOptions of_small_shards(bool resume) {
  ConvertOptions options;
  options.shard_size = 32 << 10;
  options.workers = 1;
  options.resume = resume;
  return options;
}

void packed_in_one(const std::filesystem::path& source, const std::filesystem::path& destination) {
  ConvertOptions options = of_small_shards(false);
  options.shard_size = 1 << 20;
  convert(open(source), destination, options);
}

// Packs until about half of the samples are written.
void pack_half(const std::filesystem::path& source, const std::filesystem::path& destination) {
  const auto enough = [](const ConvertProgress& progress) { return progress.bytes < 300'000; };
  CHECK_THROWS_AS(convert(open(source), destination, of_small_shards(false), enough), Error);
}

}  // namespace

TEST_CASE("values that changed between a kill and the resume are packed as they are now, the others are kept") {
  for (const bool whole_file : {false, true}) {
    CAPTURE(whole_file);
    const TemporaryFolder folder;
    const std::filesystem::path data = whole_file ? folder / "data.tar" : folder / "data";
    const auto write = [&](int from, int to, char version) {
      write_values(folder / "values", from, to, version);
      if (!whole_file) return write_values(data, from, to, version);
      std::filesystem::remove_all(folder / "tar.d");
      packed_in_one(folder / "values", folder / "tar.d");
      std::filesystem::copy_file(folder / "tar.d" / "shard-000000.tar", data,
                                 std::filesystem::copy_options::overwrite_existing);
    };
    write(0, 200, 'a');
    pack_half(data, folder / "packed");
    write(40, 60, 'b');  // in shards that are whole, of equal length
    const ConvertResult result = convert(open(data), folder / "packed", of_small_shards(true));
    if (!whole_file) CHECK(result.resumed > 0);
    CHECK(result.resumed <= 40);
    CHECK(result.resumed + result.samples == 200);
    check_equal(open(data), open(folder / "packed"));
  }
}

TEST_CASE("a sample that was left out of a whole shard and mended since is packed by a resume") {
  for (const bool mended : {false, true}) {
    CAPTURE(mended);
    const TemporaryFolder folder;
    const Bytes picture_file = jpeg(picture(64, 64, 3, 1));
    const std::string good(reinterpret_cast<const char*>(picture_file.data()), picture_file.size());
    const auto path = [&](int i) { return folder / "data" / (std::to_string(1000 + i) + ".jpg"); };
    for (int i = 0; i < 200; ++i) write_file(path(i), i % 50 == 10 ? good.substr(0, good.size() / 4) : good);
    ConvertOptions options = of_small_shards(false);
    options.shard_size = 16 << 10;
    options.recoding.jpeg = jpeg_recoding("quality:50", 0);
    options.on_error = PackOnError::skip;
    const auto enough = [](const ConvertProgress& progress) { return progress.samples < 120; };
    CHECK_THROWS_AS(convert(open(folder / "data"), folder / "packed", options, enough), Error);
    if (mended) write_file(path(60), good);
    options.resume = true;
    const ConvertResult result = convert(open(folder / "data"), folder / "packed", options);
    CHECK((result.resumed > 60) != mended);
    CHECK(result.resumed > 20);
    CHECK(result.skipped == (mended ? 3 : 4));
    CHECK(result.resumed + result.samples + result.skipped == 200);
    CHECK(open(folder / "packed").find("1060").has_value() == mended);
  }
}

TEST_CASE("a source that is as it was is resumed behind its last whole shard") {
  const TemporaryFolder folder;
  write_values(folder / "data", 0, 200, 'a');
  pack_half(folder / "data", folder / "packed");
  const ConvertResult result = convert(open(folder / "data"), folder / "packed", of_small_shards(true));
  CHECK(result.resumed > 80);
  check_equal(open(folder / "data"), open(folder / "packed"));
}

}  // namespace penstock::test::convert_test
