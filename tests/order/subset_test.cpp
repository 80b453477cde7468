// Tests which samples an epoch delivers, and what one that stands there several times draws.
#include <set>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/index/index.hpp>
#include <penstock/random.hpp>

#include "support/device_loading.hpp"
#include "support/picture_files.hpp"

namespace penstock::test::subset_test {
namespace {

struct Pictures {
  explicit Pictures(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto seed = static_cast<std::uint32_t>(i);
      write_file(folder / "data" / (number_key(i) + ".jpg"), jpeg_picture(64, 48, 3, seed));
      std::vector<float> points;
      for (std::uint32_t value = 0; value < 3 * 20; ++value)
        points.push_back(static_cast<float>(value * (seed + 1) % 17));
      write_file(folder / "data" / (number_key(i) + ".npy"), npy_file(points, "(20, 3)"));
    }
  }
  Dataset dataset() const { return open(folder / "data"); }
  TemporaryFolder folder;
};

LoaderOptions drawing(std::optional<std::vector<std::uint64_t>> subset, bool shuffle = false) {
  LoaderOptions options{.batch_size = 4, .shuffle = shuffle, .seed = 3, .workers = 2};
  const Chain crop = field("jpg") | image::random_resized_crop(16);
  options.transforms = {{"crop", crop | image::channels_last()},
                    {"numbers", crop | image::normalize({0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F})},
                    {"some", field("npy") | points::sample(7)},
                    {"moved", field("npy") | points::random_rotate() | points::random_jitter()}};
  options.subset = std::move(subset);
  return options;
}

std::vector<std::byte> row_of(const Batch& batch, std::uint32_t row) {
  std::vector<std::byte> bytes;
  for (const Field& field : batch.fields()) {
    const std::size_t length = field.values.bytes() / batch.size();
    const auto* first = static_cast<const std::byte*>(field.values.data) + row * length;
    bytes.insert(bytes.end(), first, first + length);
  }
  return bytes;
}

using Rows = std::multiset<std::pair<std::uint64_t, std::vector<std::byte>>>;  // of an epoch, by sample

Rows rows_of(Loader& loader) {
  Rows rows;
  while (const auto batch = loader.next()) {
    for (std::uint32_t row = 0; row < batch->size(); ++row)
      if (batch->valid()[row] != 0) rows.emplace(batch->samples()[row], row_of(*batch, row));
  }
  return rows;
}

}  // namespace

TEST_CASE("a subset that is empty is an error, and none is all samples") {
  const Pictures data(3);
  CHECK_THROWS_WITH_AS((Loader{data.dataset(), drawing(std::vector<std::uint64_t>{})}),
                       doctest::Contains("subset is empty"), Error);
  Loader all(data.dataset(), drawing(std::nullopt));
  CHECK(rows_of(all).size() == 3);
  IndexBuilder none;
  none.field({.name = "jpg", .codec = "jpeg"});
  std::vector<Dataset::Shard> shards;
  shards.push_back({.index = std::move(none).finish(), .root = data.folder.path(), .name = "shard"});
  const Dataset empty("here", "lmdb", std::move(shards), {}, false);
  CHECK_THROWS_WITH_AS((Loader{empty, {.transforms = {{"jpg", raw()}}}}),
                       doctest::Contains("nothing to load: 0 samples: its lmdb files hold no values"), Error);
}

TEST_CASE("the first occurrence of a sample draws what it draws alone, each further one anew") {
  const Pictures data(6);
  const Dataset dataset = data.dataset();
  Loader alone(dataset, drawing(std::nullopt)), again(dataset, drawing({{2, 5, 2, 2, 0, 5}}));
  const Batch first = alone.at(0, 0), second = alone.at(0, 1);
  const Batch batch = again.at(0, 0);
  CHECK(row_of(batch, 0) == row_of(first, 2));
  CHECK(row_of(batch, 1) == row_of(second, 1));
  const std::set<std::vector<std::byte>> drawn{row_of(batch, 0), row_of(batch, 2), row_of(batch, 3)};
  CHECK(drawn.size() == 3);
  for (std::size_t output = 0; output < batch.fields().size(); ++output) {
    const Field& field = batch.fields()[output];
    const std::size_t length = field.values.bytes() / batch.size();
    const auto* values = static_cast<const std::byte*>(field.values.data);
    CAPTURE(std::string(field.name));
    CHECK(std::memcmp(values, values + 2 * length, length) != 0);
  }
  for (std::uint32_t row = 0; row < 4; ++row) {
    const RowAccount account = again.explain(batch, row);
    CHECK(account.occurrence == (row < 2 ? 0 : row - 1));
  }
  CHECK(again.explain(batch, 0).outputs[0].account.outcomes.steps[0].outcome !=
        again.explain(batch, 2).outputs[0].account.outcomes.steps[0].outcome);
  CHECK(alone.explain(first, 2).outputs[0].account.outcomes.steps[0].outcome ==
        again.explain(batch, 0).outputs[0].account.outcomes.steps[0].outcome);
}

TEST_CASE("what the occurrences draw depends neither on the order nor on workers, engine or who does it") {
  const Pictures data(6);
  const Dataset dataset = data.dataset();
  const std::vector<std::uint64_t> list{2, 5, 2, 2, 0, 5, 5, 1, 2};
  Loader plain(dataset, drawing(list));
  const Rows expected = rows_of(plain);
  CHECK(std::set(expected.begin(), expected.end()).size() == list.size());
  LoaderOptions options = drawing(list, true);
  for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread}) {
    for (const std::uint64_t block : {0U, 2U}) {
      options.read_options.engine = engine;
      options.shuffle_block = block;
      Loader shuffled(dataset, options);
      CHECK(rows_of(shuffled) == expected);
    }
  }
  LoaderOptions of_rank = drawing(list, true);
  of_rank.world_size = 2;
  Rows of_ranks;
  for (of_rank.rank = 0; of_rank.rank < 2; ++of_rank.rank) {
    Loader loader(dataset, of_rank);
    of_ranks.merge(rows_of(loader));
  }
  CHECK(of_ranks == expected);
  options.device_options.opened = device_with();
  options.device_options.gpu_jpeg = 0.5;
  options.device_options.finish_on = FinishOn::device;
  LoaderOptions on_host = options;
  on_host.device_options.opened = nullptr;
  on_host.device_options.gpu_jpeg = 0;
  on_host.device_options.finish_on = FinishOn::automatic;
  Loader by_device(dataset, options), by_host(dataset, on_host);
  check_alike(by_device, by_host, 3);
}

TEST_CASE("replacements are rows of the list, with the draws of their occurrence") {
  const Pictures data(4);
  write_file(data.folder / "data" / (number_key(3) + ".jpg"), "\xff\xd8\xff");
  using List = std::vector<std::uint64_t>;
  for (const auto& [list, good] :
       {std::pair{List{2, 3, 2, 3, 2, 3}, List{2, 2, 2}}, std::pair{List{0, 3, 1, 3, 2, 3}, List{0, 1, 2}}}) {
    LoaderOptions options = drawing(list);
    options.on_error = OnError::replace;
    options.max_error_rate = 1;
    Loader replacing(data.dataset(), options), plain(data.dataset(), drawing(good));
    const Rows known = rows_of(plain);
    const Rows rows = rows_of(replacing);
    CHECK(rows.size() == 6);
    for (const auto& row : rows) CHECK(known.contains(row));
    CHECK(replacing.stats().bad_samples == 3);
  }
}

TEST_CASE("the draws of a sample that stands once are keyed by its number alone") {
  CHECK(draw_number(7, 0) == 7);
  CHECK(draw_number(7, 1) != draw_number(7, 2));
  CHECK(draw_number(7, 1) != draw_number(8, 1));
  CHECK(draw_number((std::uint64_t{1} << 40) - 1, 0) != draw_number(0, 1));
}

}  // namespace penstock::test::subset_test
