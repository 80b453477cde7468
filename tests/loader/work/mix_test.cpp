// Tests mixup and cutmix of a loader's batches, beside a loader that does not mix.
#include <cmath>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <bench/synth/picture_writer.hpp>
#include <loader/work/batch_mixer.hpp>

#include "support/loading.hpp"

namespace penstock::test::mix_test {
namespace {

constexpr std::int64_t kClasses = 10;
constexpr std::uint64_t kCount = 27;

struct Data {
  explicit Data(std::uint64_t broken = kCount) {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      std::vector<std::uint8_t> pixels(24 * 20 * 3);
      for (std::size_t p = 0; p < pixels.size(); ++p)
        pixels[p] = static_cast<std::uint8_t>(p * p * 7 + p * 31 + i * 97);
      const std::vector<std::byte> encoded = encode_png(pixels, 24, 20);
      std::string bytes(reinterpret_cast<const char*>(encoded.data()), encoded.size());
      if (i == broken) bytes.resize(bytes.size() / 2);
      write_file(folder / "data" / (number_key(i) + ".png"), bytes);
      write_file(folder / "data" / (number_key(i) + ".cls"), std::to_string(i % kClasses));
    }
  }
  Dataset dataset() const { return open(folder / "data"); }
  TemporaryFolder folder;
};

LoaderOptions mixing(std::vector<Mix> mixes, unsigned workers = 2) {
  LoaderOptions options;
  options.batch_size = 8;
  options.shuffle = true;
  options.seed = 11;
  options.workers = workers;
  options.transforms = {{"png", image::random_crop(16) | image::random_horizontal_flip() |
                                    image::normalize({0.5F, 0.5F, 0.5F}, {1, 1, 1})},
                        {"cls", label()}};
  options.mix = std::move(mixes);
  return options;
}

std::vector<float> row_of(const Batch& batch, const char* output, std::uint32_t row) {
  const auto values = batch[output].as<float>();
  const std::size_t count = values.size() / batch.size();
  return {values.begin() + static_cast<std::ptrdiff_t>(row * count),
          values.begin() + static_cast<std::ptrdiff_t>((row + 1) * count)};
}

bool in_box(const Region& box, std::size_t element) {
  const auto x = static_cast<std::int64_t>(element % 16), y = static_cast<std::int64_t>(element / 16 % 16);
  return x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
}

// Checks an epoch of `mixed` against the same one of `plain`; returns the shares that were drawn.
std::vector<double> check_epoch(Loader& mixed, Loader& plain) {
  std::vector<double> shares;
  while (const auto batch = mixed.next()) {
    const auto before = plain.next();
    REQUIRE(batch->mix().has_value());
    const MixDraw& draw = *batch->mix();
    shares.push_back(draw.lambda);
    const auto own = static_cast<float>(draw.lambda), rest = static_cast<float>(1 - draw.lambda);
    for (std::uint32_t row = 0; row < batch->size(); ++row) {
      const auto image = row_of(*batch, "png", row), was = row_of(*before, "png", row);
      const auto classes = row_of(*batch, "cls", row);
      if (batch->valid()[row] == 0) {
        CHECK(image == was);
        continue;
      }
      const std::uint32_t partner = partner_of(batch->valid(), row);
      const auto other = row_of(*before, "png", partner);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < image.size(); ++i) {
        const float wanted =
            draw.kind == Mix::Kind::mixup ? other[i] * rest + was[i] * own : (in_box(draw.box, i) ? other[i] : was[i]);
        wrong += image[i] != wanted;
      }
      CHECK(wrong == 0);
      std::vector<float> wanted(kClasses);
      wanted[batch->samples()[partner] % kClasses] += rest;
      wanted[batch->samples()[row] % kClasses] += own;
      for (std::size_t c = 0; c < wanted.size(); ++c) CHECK(std::abs(classes[c] - wanted[c]) < 1e-6F);
    }
  }
  CHECK_FALSE(plain.next().has_value());
  return shares;
}

std::vector<double> shares_of(std::vector<Mix> mixes, Last last = Last::keep) {
  const Data data;
  LoaderOptions options = mixing(std::move(mixes)), without = mixing({});
  options.last_batch = without.last_batch = last;
  Loader mixed(data.dataset(), options), plain(data.dataset(), without);
  std::vector<double> shares = check_epoch(mixed, plain);
  const auto more = check_epoch(mixed, plain);
  shares.insert(shares.end(), more.begin(), more.end());
  return shares;
}

std::string refusal(const LoaderOptions& options) {
  const Data data;
  try {
    Loader loader(data.dataset(), options);
    return "nothing thrown";
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every batch is mixed by one share of its own: images, labels, and a short last batch") {
  for (const Last last : {Last::keep, Last::pad, Last::drop}) {
    for (const std::vector<Mix>& mixes :
         {std::vector{mixup(0.4, kClasses)}, {cutmix(1, kClasses)}, {mixup(1, kClasses), cutmix(1, kClasses)}}) {
      const auto shares = shares_of(mixes, last);
      CHECK(shares.size() == (last == Last::drop ? 6 : 8));
      CHECK(std::set<double>(shares.begin(), shares.end()).size() >= shares.size() - 1);
    }
  }
}

TEST_CASE("the bytes do not depend on workers, engines or where a loader was restored") {
  const Data data;
  const Dataset dataset = packed(data.dataset(), data.folder / "packed", "tar");
  const std::vector<Mix> mixes{mixup(0.2, kClasses), cutmix(1, kClasses)};
  Loader one(dataset, mixing(mixes, 1));
  const auto expected = batch_digests(one);
  for (const EngineKind kind : {EngineKind::in_worker, EngineKind::pread, EngineKind::mmap}) {
    LoaderOptions options = mixing(mixes, 3);
    options.read_options.engine = kind;
    Loader loader(dataset, options);
    CHECK(batch_digests(loader) == expected);
  }
  Loader first(dataset, mixing(mixes));
  first.next();
  const LoaderState state = first.state();
  CHECK(contains(state.transforms, "cls = label(10); mix: mixup(0.2, num_classes=10), cutmix(1, num_classes=10)"));
  CHECK(mixes_of(state.transforms) == mixes);
  Loader restored(dataset, mixing(mixes));
  restored.restore(state);
  CHECK(batch_digests(restored) == std::vector(expected.begin() + 1, expected.end()));
  Digest again;
  again.add(restored.at(0, 2));
  CHECK(again.value() == expected[2]);
  const Batch batch = restored.at(0, 2);
  const RowAccount account = restored.explain(batch, 0);
  REQUIRE(account.mix.has_value());
  CHECK(account.mix->partner == 7);
  CHECK(account.mix->partner_key == batch.keys()[7]);
}

TEST_CASE("rows marked bad are neither mixed nor mixed in") {
  const Data data(13);
  LoaderOptions options = mixing({mixup(1, kClasses)}), without = mixing({});
  options.on_error = without.on_error = OnError::mark;
  options.max_error_rate = without.max_error_rate = 0.5;
  Loader mixed(data.dataset(), options), plain(data.dataset(), without);
  check_epoch(mixed, plain);
  CHECK(mixed.stats().bad.size() == 1);
}

TEST_CASE("labels that the codec tells are found without a chain, and uint8 images are fit for cutmix") {
  const Data data;
  LoaderOptions options = mixing({cutmix(1, kClasses)});
  options.transforms = {{"png", image::center_crop(16)}, {"cls", {}}};
  Loader loader(data.dataset(), options);
  const auto batch = loader.next();
  CHECK((*batch)["cls"].values.shape == Shape{8, kClasses});
  CHECK((*batch)["png"].values.dtype == DType::u8);
}

TEST_CASE("what cannot be mixed is refused with its cause") {
  LoaderOptions options = mixing({mixup(0.2, kClasses)});
  options.transforms = {{"png", image::center_crop(16)}, {"cls", label()}};
  CHECK(contains(refusal(options), "output \"png\" is uint8: mixup() needs image.normalize()"));
  options = mixing({mixup(0.2, kClasses)});
  options.transforms.pop_back();
  CHECK(contains(refusal(options), "no output is a label()"));
  options = mixing({cutmix(0.2, kClasses)});
  options.transforms.erase(options.transforms.begin());
  CHECK(contains(refusal(options), "no output is an image"));
  options = mixing({cutmix(0.2, kClasses)});
  options.transforms.emplace_back("mask", field("png") | follow("png"));
  CHECK(contains(refusal(options), "output \"mask\" is paired with an image"));
  options = mixing({cutmix(0.2, kClasses)});
  options.transforms.emplace_back("small", field("png") | image::center_crop(8));
  CHECK(contains(refusal(options), "output \"small\" has another size"));
  options = mixing({mixup(0.2, kClasses), cutmix(0.2, 11)});
  CHECK(contains(refusal(options), "different numbers of classes"));
  options = mixing({mixup(-1, kClasses)});
  CHECK(contains(refusal(options), "alpha must be above 0"));
  options = mixing({mixup(1, kClasses)});
  options.transforms[1].second = label(12);
  CHECK(contains(refusal(options), "has 12 classes, but the mix has mixup(1, num_classes=10)"));
}

}  // namespace penstock::test::mix_test
