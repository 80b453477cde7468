// Tests codecs and transforms of the user's own, as a loader's workers run them.
#include "support/own_steps.hpp"

#include <doctest/doctest.h>

#include "support/loading.hpp"

namespace penstock::test::own_steps_test {
namespace {

void write_pgms(const std::filesystem::path& folder, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    std::vector<std::uint8_t> pixels(24 * 16);
    for (std::size_t p = 0; p < pixels.size(); ++p) pixels[p] = static_cast<std::uint8_t>(p * 7 + i * 31);
    write_file(folder / (number_key(i) + ".pgm"), pgm(24, 16, pixels));
  }
}

LoaderOptions own_steps(unsigned workers, OnError policy = OnError::raise) {
  LoaderOptions options;
  options.batch_size = 8;
  options.shuffle = true;
  options.workers = workers;
  options.on_error = policy;
  options.max_error_rate = 0.5;
  options.transforms = {{"pgm", decode(std::make_shared<PgmCodec>()) | image::random_resized_crop(8) |
                                    transform(std::make_shared<SumOfChannels>()) |
                                    transform(std::make_shared<AddNoise>(1))}};
  return options;
}

}  // namespace

TEST_CASE("a kind of file that only the user knows gives the same batches whatever the workers, also rebuilt") {
  const TemporaryFolder folder;
  write_pgms(folder / "data", 50);
  const Dataset dataset = open(folder / "data");
  Loader one(dataset, own_steps(1)), three(dataset, own_steps(3));
  const auto digests = batch_digests(one);
  CHECK(digests.size() == 7);
  CHECK(batch_digests(three) == digests);
  Digest again;
  again.add(three.at(0, 4));
  CHECK(again.value() == digests[4]);
  CHECK(one.state().transforms.find("decode(pgm 2) | image.random_resized_crop(8, 8, ") != std::string::npos);
  CHECK(one.state().transforms.find("transform(noise 1)") != std::string::npos);
}

TEST_CASE("an Error of one's own codec follows on_error, and whatever else is thrown is raised") {
  const TemporaryFolder folder;
  write_pgms(folder / "data", 40);
  write_file(folder / "data" / (number_key(7) + ".pgm"), "P5 24 16 255\ncut");
  const Dataset dataset = open(folder / "data");
  CHECK_THROWS_WITH(batch_digests(*std::make_unique<Loader>(dataset, own_steps(2))),
                    doctest::Contains("a PGM without all its pixels"));
  Loader marking(dataset, own_steps(2, OnError::mark));
  batch_digests(marking);
  REQUIRE(marking.stats().bad.size() == 1);
  CHECK(marking.stats().bad[0].key == number_key(7));

  for (const int what : {1, 2}) {
    LoaderOptions options = own_steps(2, OnError::mark);
    options.transforms[0].second = decode(std::make_shared<PgmCodec>()) | transform(std::make_shared<Throws>(what));
    Loader throwing(dataset, options);
    try {
      throwing.next();
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::resource);
      CHECK_FALSE(error.context().key.empty());
      CHECK(error.context().field == "pgm");
      CHECK(error.context().dataset == (folder / "data").string());
    }
  }
}

}  // namespace penstock::test::own_steps_test
