// Usage: fuzz_seeds FOLDER: writes the seed corpus of every target to FOLDER/TARGET.
#include "fuzz/seeds.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

namespace penstock::fuzz {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Seeds::add(std::string_view target, std::string_view name, std::string_view bytes) const {
  std::filesystem::create_directories(folder_ / target);
  std::ofstream(folder_ / target / name, std::ios::binary) << bytes;
}

std::filesystem::path Seeds::scratch(std::string_view name) const {
  const std::filesystem::path scratch = folder_ / "scratch";
  std::filesystem::remove_all(scratch);
  std::filesystem::create_directories(scratch);
  return scratch / name;
}

void Seeds::add_file(std::string_view target, std::string_view name, const std::filesystem::path& file) const {
  add(target, name, read_file(file));
}

}  // namespace penstock::fuzz

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const penstock::fuzz::Seeds seeds(argv[1]);
  add_packed(seeds);
  add_values(seeds);
  add_clouds(seeds);
  add_foreign(seeds);
  add_remote(seeds);
  add_hdf5(seeds);
  std::filesystem::remove_all(seeds.scratch("").parent_path());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fuzz_seeds: %s\n", error.what());
  return 1;
}
