// Tests crops of large recoded photographs: only the tiles they need are read, and nothing else changes.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <transforms/recode/jpeg_recoder.hpp>

#include "support/loading.hpp"
#include "support/picture_files.hpp"

namespace penstock::test::crops_test {
namespace {

constexpr std::uint32_t kSamples = 12;

/// Large and small photographs, recoded or as they are.
Dataset photographs(const std::filesystem::path& source, const std::filesystem::path& destination, const char* policy) {
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    const std::int64_t side = i % 4 == 3 ? 60 : 700 + 11 * i;
    // One is no JPEG, whatever its name: it stays.
    const std::string file =
        i == 7 ? png_picture(side, side - 5, 3, i) : jpeg_picture(side, side - 5, i == 5 ? 1 : 3, i);
    write_file(source / (number_key(i) + ".jpg"), file);
    write_file(source / (number_key(i) + ".seg.png"), png_picture(side, side - 5, 1, i + 1));
  }
  ConvertOptions options;
  options.workers = 1;
  options.recoding.jpeg = jpeg_recoding(policy, 0);
  convert(open(source), destination, options);
  return open(destination);
}

LoaderOptions options_of(bool fast) {
  const Chain decode = image::decode(fast);
  return {.batch_size = 5,
          .shuffle = true,
          .seed = 5,
          .workers = 2,
          .transforms = {{"jpg", decode | image::random_resized_crop(24) | image::random_horizontal_flip()},
                         {"mask", field("seg.png") | follow("jpg")},
                         {"turned", field("jpg") | decode | image::random_crop(50) | image::random_rotation({-30, 30})},
                         {"middle", field("jpg") | decode | image::center_crop(40)}}};
}

std::vector<std::uint64_t> two_epochs(Loader& loader) {
  std::vector<std::uint64_t> digests = batch_digests(loader);
  for (const std::uint64_t digest : batch_digests(loader)) digests.push_back(digest);
  return digests;
}

}  // namespace

TEST_CASE("batches are those of the files, from fewer bytes, whatever the engine") {
  const TemporaryFolder folder;
  const Dataset files = photographs(folder / "source", folder / "files", "keep");
  const Dataset recoded = photographs(folder / "source", folder / "recoded", "recode");
  for (const bool fast : {false, true}) {
    LoaderOptions options = options_of(fast);
    Loader plain(files, options);
    const auto expected = two_epochs(plain);
    for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread, EngineKind::mmap}) {
      options.read_options.engine = engine;
      Loader loader(recoded, options);
      CHECK(two_epochs(loader) == expected);
    }
  }
  // Over so many epochs that it hardly counts how far the scheduler runs ahead.
  auto read_for = [&](const Chain& chain) {
    Loader loader(recoded,
                  {.batch_size = 5, .workers = 1, .transforms = {{"jpg", chain}}, .checksums = Checksums::off});
    for (int epoch = 0; epoch < 8; ++epoch) batch_digests(loader);
    return loader.stats().bytes_read;
  };
  CHECK(read_for(image::decode() | image::center_crop(40)) < read_for(image::decode() | image::resize(64, 64)) / 2);
}

TEST_CASE("an image that the cache has room for is read whole, and kept") {
  const TemporaryFolder folder;
  const Dataset recoded = photographs(folder / "source", folder / "recoded", "recode");
  for (const CacheKind cache : {CacheKind::encoded, CacheKind::decoded}) {
    LoaderOptions options{.batch_size = 5, .seed = 5, .workers = 2};
    options.transforms = {{"jpg", image::decode() | image::random_resized_crop(24)}};
    Loader plain(recoded, options);
    const auto expected = two_epochs(plain);
    options.cache.kind = cache;
    options.cache.limit = std::uint64_t{64} << 20;
    Loader loader(recoded, options);
    CHECK(two_epochs(loader) == expected);
    two_epochs(loader);
    CHECK(loader.stats().cache.hits >= kSamples);  // the scheduler plans ahead of what is kept
  }
}

}  // namespace penstock::test::crops_test
