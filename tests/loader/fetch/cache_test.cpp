// Tests the cache of samples: later epochs read and decode less, and deliver the same bytes.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/loading.hpp"
#include "support/picture_files.hpp"

namespace penstock::test::cache_test {
namespace {

constexpr std::uint64_t kSamples = 40;
constexpr int kEpochs = 3;

// A JPEG, its mask, a label and an array for each sample, of sizes that differ.
Dataset pictures(const std::filesystem::path& folder) {
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    const std::string key = number_key(i);
    const std::int64_t width = 40 + i % 7, height = 44 + i % 5;
    write_file(folder / (key + ".jpg"), jpeg_picture(width, height, i % 4 == 0 ? 1 : 3, i));
    write_file(folder / (key + ".seg.png"), png_picture(width, height, 1, i + 1));
    write_file(folder / (key + ".cls"), std::to_string(i % 3));
    write_file(folder / (key + ".npy"), npy_file({1.0F, 2.0F, static_cast<float>(i)}, "(3,)"));
  }
  return open(folder);
}

std::vector<FieldChain> all_kinds() {
  const std::vector<float> mean{0.5F, 0.4F, 0.3F}, deviation{0.2F, 0.3F, 0.4F};
  return {{"one", field("jpg") | image::random_resized_crop(24) | image::random_horizontal_flip() |
                      image::normalize(mean, deviation)},
          {"two", field("jpg") | image::random_resized_crop(16)},
          {"mask", field("seg.png") | follow("one")},
          {"still", field("jpg") | image::resize(30) | image::center_crop(28)},
          {"npy", array::cast(DType::f64)},
          {"cls", label()},
          {"stored", field("jpg") | raw()}};
}

LoaderOptions options_of(std::vector<FieldChain> fields) {
  LoaderOptions options;
  options.batch_size = 7;
  options.shuffle = true;
  options.seed = 5;
  options.workers = 2;
  options.transforms = std::move(fields);
  return options;
}

std::vector<std::uint64_t> epochs(Loader& loader) {
  std::vector<std::uint64_t> digests;
  for (int epoch = 0; epoch < kEpochs; ++epoch)
    for (const std::uint64_t digest : batch_digests(loader)) digests.push_back(digest);
  return digests;
}

std::vector<std::uint64_t> epochs(const Dataset& dataset, const LoaderOptions& options) {
  Loader loader(dataset, options);
  return epochs(loader);
}

}  // namespace

TEST_CASE("batches do not depend on what is kept, how much of it, by whom and from which engine") {
  const TemporaryFolder folder;
  const Dataset source = pictures(folder / "data");
  const Dataset tar = packed(source, folder / "tar", "tar");
  LoaderOptions options = options_of(all_kinds());
  const std::vector<std::uint64_t> expected = epochs(source, options);
  for (const Dataset& dataset : {source, tar}) {
    for (const CacheKind cache : {CacheKind::encoded, CacheKind::decoded}) {
      for (const std::uint64_t limit : {std::uint64_t{8} << 10, std::uint64_t{100} << 10, std::uint64_t{64} << 20}) {
        for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread}) {
          for (const unsigned workers : {1U, 4U}) {
            options.cache.kind = cache;
            options.cache.limit = limit;
            options.read_options.engine = engine;
            options.workers = workers;
            CAPTURE(dataset.format());
            CAPTURE(name(cache));
            CAPTURE(limit);
            CAPTURE(name(engine));
            CAPTURE(workers);
            CHECK(epochs(dataset, options) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("a later epoch reads nothing that is kept, and what was full stays full") {
  const TemporaryFolder folder;
  const Dataset dataset = packed(pictures(folder / "data"), folder / "tar", "tar");
  for (const CacheKind cache : {CacheKind::encoded, CacheKind::decoded}) {
    LoaderOptions options = options_of(all_kinds());
    options.cache.kind = cache;
    CAPTURE(name(cache));
    Loader whole(dataset, options);
    batch_digests(whole);
    const Stats first = whole.stats();
    batch_digests(whole);
    batch_digests(whole);
    const Stats later = whole.stats();
    CHECK(first.cache.values > kSamples);
    CHECK(later.cache.values == first.cache.values);
    CHECK(later.cache.used == first.cache.used);
    CHECK(later.cache.misses < 2 * kSamples * options.transforms.size());  // the scheduler may be ahead by some batches
    CHECK(later.cache.hits >= kSamples * options.transforms.size());

    options.cache.limit = 20'000;
    Loader small(dataset, options);
    batch_digests(small);
    const CacheStats full = small.stats().cache;
    CHECK(full.values > 0);
    CHECK(full.values < first.cache.values);
    CHECK(full.used <= 20'000);
    CHECK(full.reserved <= 20'000);
    batch_digests(small);
    CHECK(small.stats().cache.hits > 0);
  }
}

TEST_CASE("rows for which nothing is drawn are copied, and images of any layout are equal to fresh ones") {
  const TemporaryFolder folder;
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    write_file(folder / ("data/" + number_key(i) + ".png"), png_picture(32, 32, 3, i));
    write_file(folder / ("data/" + number_key(i) + ".cls"), std::to_string(i % 3));
  }
  const Dataset dataset = open(folder / "data");
  for (const Chain& chain : {image::decode(), image::decode() | image::channels_last()}) {
    LoaderOptions options = options_of({{"png", chain}, {"cls", label()}});
    const std::vector<std::uint64_t> expected = epochs(dataset, options);
    options.cache.kind = CacheKind::decoded;
    Loader loader(dataset, options);
    CHECK(epochs(loader) == expected);
    const Stats stats = loader.stats();
    CHECK(stats.cache.values == 2 * kSamples);
    batch_digests(loader);
    CHECK(loader.stats().bytes_read == stats.bytes_read);
    CHECK(loader.at(1, 2)["png"].as<std::byte>().size() == 7 * 32 * 32 * 3);
  }
}

TEST_CASE("a broken image is judged alike with and without a cache") {
  const TemporaryFolder folder;
  pictures(folder / "data");
  std::string cut = jpeg_picture(60, 60, 3, 1);
  cut.resize(cut.size() * 2 / 3);  // its upper half can be decoded, the whole image cannot
  write_file(folder / ("data/" + number_key(9) + ".jpg"), cut);
  write_file(folder / ("data/" + number_key(30) + ".jpg"), "\xFF\xD8\xFFnothing");
  const Dataset dataset = open(folder / "data");
  LoaderOptions options = options_of({{"jpg", image::random_resized_crop(16)}});
  options.on_error = OnError::mark;
  options.max_error_rate = 1;
  Loader plain(dataset, options);
  const std::vector<std::uint64_t> expected = epochs(plain);
  CHECK(plain.stats().bad_samples >= kEpochs);
  for (const CacheKind cache : {CacheKind::encoded, CacheKind::decoded}) {
    options.cache.kind = cache;
    Loader loader(dataset, options);
    CHECK(epochs(loader) == expected);
    CHECK(loader.stats().bad_samples == plain.stats().bad_samples);
  }
}

TEST_CASE("a limit that does not hold the table of the samples is refused, and names are what they are") {
  const TemporaryFolder folder;
  const Dataset dataset = pictures(folder / "data");
  LoaderOptions options = options_of(all_kinds());
  options.cache.kind = CacheKind::encoded;
  options.cache.limit = 1000;
  CHECK_THROWS_WITH_AS(Loader(dataset, options), doctest::Contains("the cache's limit of 1000 bytes"), Error);
  CHECK(cache_named("decoded") == CacheKind::decoded);
  CHECK(name(CacheKind::encoded) == "encoded");
  CHECK_THROWS_AS(cache_named("both"), Error);
}

}  // namespace penstock::test::cache_test
