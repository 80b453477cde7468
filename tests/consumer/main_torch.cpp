// Loads a folder of four labelled values as tensors, with torch's own data loader.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <torch/data/dataloader.h>

#include <penstock/torch/dataset.hpp>

int main() {
  const std::filesystem::path folder = "consumer-torch-dataset";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (int i = 0; i < 4; ++i) std::ofstream(folder / (std::to_string(i) + ".cls")) << 10 * i;

  const penstock::torch::Dataset dataset(penstock::Loader(
      penstock::open(folder), {.batch_size = 4, .workers = 1, .transforms = {{"cls", penstock::label()}}}));
  auto batches = torch::data::make_data_loader(dataset, dataset.options());
  std::int64_t sum = 0;
  for (auto& batch : *batches) sum += batch["cls"].sum().item<std::int64_t>();
  std::cout << "sum of labels: " << sum << '\n';
  return sum == 60 ? EXIT_SUCCESS : EXIT_FAILURE;
}
