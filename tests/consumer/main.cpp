// Makes a folder of four labelled values, opens it, and loads it in one batch.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <penstock/penstock.hpp>

namespace {

void make_dataset(const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (int i = 0; i < 4; ++i) std::ofstream(folder / (std::to_string(i) + ".cls")) << 10 * i;
}

int load(const std::filesystem::path& folder) {
  penstock::Loader loader(penstock::open(folder),
                          {.batch_size = 4, .workers = 1, .transforms = {{"cls", penstock::label()}}});
  int sum = 0;
  for (const penstock::Batch& batch : loader) {
    for (const std::int64_t label : batch["cls"].as<std::int64_t>()) sum += static_cast<int>(label);
  }
  return sum;
}

}  // namespace

int main() {
  const std::filesystem::path folder = "consumer-dataset";
  make_dataset(folder);
  const int sum = load(folder);
  std::cout << "sum of labels: " << sum << '\n';
  return sum == 60 ? EXIT_SUCCESS : EXIT_FAILURE;
}
