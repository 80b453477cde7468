// Tests the loader as a dataset of torch::data: epochs, position, size, errors, and both batch types.
#include <memory>
#include <sstream>
#include <vector>

#include <torch/data.h>
#include <torch/serialize.h>

#include <penstock/torch/dataset.hpp>

#include "doctest_after_torch.hpp"
#include "support/loading.hpp"
#include "torch/long_arrays.hpp"

namespace dataset_test {
namespace {

using namespace penstock::test;
using penstock::Error;
using penstock::Loader;
using penstock::LoaderOptions;
using penstock::torch::ExampleDataset;
using penstock::torch::TensorBatch;
namespace data = ::torch::data;

std::shared_ptr<Loader> shuffled(const std::filesystem::path& folder) {
  return std::make_shared<Loader>(penstock::open(folder), LoaderOptions{.batch_size = 8, .shuffle = true, .seed = 3});
}

// The labels and values that one loop over torch's data loader gives.
template <typename Batches>
std::vector<std::uint64_t> samples_of(Batches& batches) {
  std::vector<std::uint64_t> samples;
  for (auto& batch : batches) samples.insert(samples.end(), batch.samples().begin(), batch.samples().end());
  return samples;
}

template <typename Dataset>
std::string saved(const Dataset& dataset) {
  std::ostringstream bytes;
  ::torch::save(dataset, bytes);
  return bytes.str();
}

template <typename Dataset>
void load(Dataset& dataset, const std::string& bytes) {
  std::istringstream in(bytes);
  ::torch::load(dataset, in);
}

TEST_CASE("each loop over torch's data loader is an epoch, with the batches of the loader") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 44);
  const penstock::torch::Dataset dataset(shuffled(folder / "data"));
  CHECK(dataset.size().value() == 44);
  auto batches = data::make_data_loader(dataset, dataset.options());
  const auto reference = shuffled(folder / "data");
  std::vector<std::vector<std::uint64_t>> epochs;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::uint64_t>& samples = epochs.emplace_back();
    for (TensorBatch& batch : *batches) {
      const penstock::Batch expected = *reference->next();
      CHECK(std::ranges::equal(batch.samples(), expected.samples()));
      CHECK(batch["npy"][0][0].item<float>() == expected["npy"].as<float>()[0]);
      samples.insert(samples.end(), batch.samples().begin(), batch.samples().end());
    }
    CHECK_FALSE(reference->next().has_value());
    CHECK(samples.size() == 44);
  }
  CHECK(epochs[0] != epochs[1]);
  CHECK(epochs[1] != epochs[2]);
}

TEST_CASE("an epoch that was left early is followed by the next one, and begin() twice skips none") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  const penstock::torch::Dataset dataset(shuffled(folder / "data"));
  auto batches = data::make_data_loader(dataset, dataset.options());
  CHECK(batches->begin()->epoch() == 0);
  CHECK(batches->begin()->epoch() == 1);
  static_cast<void>(batches->begin());
  CHECK(batches->begin()->epoch() == 2);
}

TEST_CASE("after its end an epoch gives nothing until reset") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 12);
  penstock::torch::Dataset dataset(shuffled(folder / "data"));
  dataset.reset();
  CHECK(dataset.get_batch(8).has_value());
  CHECK(dataset.get_batch(8).has_value());
  CHECK_FALSE(dataset.get_batch(8).has_value());
  CHECK_FALSE(dataset.get_batch(8).has_value());
  dataset.reset();
  CHECK(dataset.get_batch(8)->epoch() == 1);
}

TEST_CASE("a fresh dataset that loads a saved position goes on at the next batch") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  std::vector<std::uint64_t> rest, next_epoch;
  std::string position;
  {
    const penstock::torch::Dataset dataset(shuffled(folder / "data"));
    auto batches = data::make_data_loader(dataset, dataset.options());
    samples_of(*batches);
    int taken = 0;
    for (TensorBatch& batch : *batches) {
      if (++taken == 2) position = saved(dataset);
      if (taken > 2) rest.insert(rest.end(), batch.samples().begin(), batch.samples().end());
    }
    next_epoch = samples_of(*batches);
  }
  CHECK(rest.size() == 24);
  penstock::torch::Dataset resumed(shuffled(folder / "data"));
  load(resumed, position);
  auto batches = data::make_data_loader(resumed, resumed.options());
  CHECK(samples_of(*batches) == rest);
  CHECK(samples_of(*batches) == next_epoch);
  load(resumed, position);
  CHECK(samples_of(*batches) == rest);
}

TEST_CASE("a position of other data, and an archive without one, are refused") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 8);
  write_arrays(folder / "other", 9);
  penstock::torch::Dataset dataset(shuffled(folder / "data")), other(shuffled(folder / "other"));
  CHECK_THROWS_AS(load(dataset, saved(other)), Error);
  std::ostringstream foreign;
  ::torch::save(at::ones(3), foreign);
  CHECK_THROWS_WITH_AS(load(dataset, foreign.str()), doctest::Contains("no position"), Error);
}

TEST_CASE("examples have the two outputs as data and target, by order or by name") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 10);
  LoaderOptions options{.batch_size = 4,
                        .transforms = {{"npy", penstock::array::decode()}, {"cls", penstock::label()}}};
  const ExampleDataset dataset(Loader(penstock::open(folder / "data"), options));
  std::int64_t rows = 0;
  auto examples = data::make_data_loader(dataset, dataset.options());
  for (data::Example<>& batch : *examples) {
    CHECK((batch.data.scalar_type() == at::kFloat));
    CHECK(at::equal(batch.data.select(1, 0).to(at::kLong), batch.target));
    rows += batch.target.size(0);
  }
  CHECK(rows == 10);

  options.transforms.emplace_back("again", penstock::field("npy"));
  const auto loader = std::make_shared<Loader>(penstock::open(folder / "data"), options);
  ExampleDataset named(loader, "again", "cls");
  named.reset();
  CHECK(named.get_batch(4)->data.sizes() == at::IntArrayRef{4, 3});
  CHECK_THROWS_WITH_AS(ExampleDataset{loader}, doctest::Contains("3 outputs"), Error);
  CHECK_THROWS_WITH_AS(ExampleDataset(loader, "npy", "label"), doctest::Contains("'label'"), Error);
}

TEST_CASE("torch's own transforms apply to a batch") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 8);
  const ExampleDataset dataset(
      Loader(penstock::open(folder / "data"),
             {.batch_size = 4, .transforms = {{"npy", penstock::array::decode()}, {"cls", penstock::label()}}}));
  using Examples = data::Example<>;
  auto doubled = ExampleDataset(dataset).map(data::transforms::BatchLambda<Examples, Examples>(
      [](Examples batch) { return Examples(batch.data * 2, batch.target); }));
  auto batches = data::make_data_loader(std::move(doubled), dataset.options());
  int count = 0;
  for (Examples& batch : *batches) {
    CHECK(at::equal(batch.data.select(1, 0), 2 * batch.target.to(at::kFloat)));
    ++count;
  }
  CHECK(count == 2);
}

TEST_CASE("a batch size that is not the loader's is refused with the way out") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 8);
  const penstock::torch::Dataset dataset(shuffled(folder / "data"));
  auto batches = data::make_data_loader(dataset, data::DataLoaderOptions());
  CHECK_THROWS_WITH_AS(*batches->begin(), doctest::Contains("options()"), Error);
  CHECK_THROWS_AS(penstock::torch::Dataset(std::shared_ptr<Loader>()), Error);
}

TEST_CASE("what a worker failed with reaches the loop as penstock's Error, and holding too many names held") {
  const TemporaryFolder folder;
  write_long_arrays(folder / "data", 40);
  write_file(folder / "data" / (number_key(39) + ".npy"), "no array");
  const penstock::torch::Dataset dataset(Loader(
      penstock::open(folder / "data"), {.batch_size = 8, .workers = 2, .memory_options = {.reserved_batches = 2}}));
  auto batches = data::make_data_loader(dataset, dataset.options());
  const auto drain = [&] { samples_of(*batches); };
  CHECK_THROWS_WITH_AS(drain(), doctest::Contains(number_key(39).c_str()), Error);
  std::vector<at::Tensor> kept;
  const auto keep = [&] {
    for (TensorBatch& batch : *batches) kept.push_back(batch["npy"]);
  };
  CHECK_THROWS_WITH_AS(keep(), doctest::Contains("reserved_batches"), Error);
  CHECK(kept.size() == 2);
}

TEST_CASE("with one worker of torch's own the batches are the same, in the same order") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  const auto make = [&] {
    return penstock::torch::Dataset(
        Loader(penstock::open(folder / "data"),
               {.batch_size = 8, .shuffle = true, .memory_options = {.reserved_batches = 8}}));
  };
  const penstock::torch::Dataset own = make(), others = make();
  auto expected = data::make_data_loader(own, own.options());
  auto batches = data::make_data_loader(others, others.options().workers(1));
  CHECK(samples_of(*batches) == samples_of(*expected));
}

}  // namespace

}  // namespace dataset_test
