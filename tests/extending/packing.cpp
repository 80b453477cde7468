// Uses the packing of docs/extending.md: writes a dataset and opens it, by its index and without one.
// Argument: a folder to write into.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <formats/format.hpp>
#include <penstock/dataset.hpp>
#include <penstock/pack.hpp>

namespace fs = std::filesystem;

namespace {

void require(bool fits, const char* what) {
  if (fits) return;
  std::cerr << "packing: " << what << "\n";
  std::exit(1);
}

std::string text_of(const penstock::Dataset& dataset, std::uint64_t sample) {
  std::string text;
  for (const std::byte byte : penstock::read_field(dataset, sample, 0)) text += static_cast<char>(byte);
  return text;
}

void check(const penstock::Dataset& dataset) {
  require(dataset.format() == "lines", "opened as another packing");
  require(dataset.size() == 3, "not 3 samples");
  for (std::uint64_t i = 0; i < 3; ++i) require(text_of(dataset, i) == "text " + std::to_string(i), "another text");
}

}  // namespace

int main(int, char** arguments) {
  const fs::path folder = arguments[1];
  fs::create_directory(folder / "texts");
  for (int i = 0; i < 3; ++i) std::ofstream(folder / "texts" / ("t" + std::to_string(i) + ".txt")) << "text " << i;
  require(penstock::format_named("lines") != nullptr, "the list does not have it");
  penstock::ConvertOptions options;
  options.format = "lines";
  penstock::convert(penstock::open(folder / "texts"), folder / "packed", options);
  check(penstock::open(folder / "packed"));
  for (const auto& entry : fs::directory_iterator(folder / "packed"))
    if (entry.path().extension() == ".lines") fs::copy_file(entry.path(), folder / "alone.lines");
  check(penstock::open(folder / "alone.lines"));
}
