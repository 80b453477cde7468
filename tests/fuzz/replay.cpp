// Usage: fuzz_replay FOLDER: runs each target over the inputs in FOLDER/TARGET, where findings are kept, and over none.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "fuzz/target.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace penstock;

namespace {

constexpr unsigned kSecondsEach = 60;  // with a sanitizer, on a busy machine; no input needs one

void replay(const fuzz::Target& target, const std::string& bytes) {
  ::alarm(kSecondsEach);  // ends the process
  fuzz::run(target, test::bytes_of(bytes));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_replay FOLDER\n");
    return 2;
  }
  std::size_t inputs = 0;
  for (const fs::directory_entry& named : fs::directory_iterator(argv[1])) {
    const std::string name = named.path().filename().string();
    const fuzz::Target* target = fuzz::target_named(fuzz::file_targets(), name);
    if (target == nullptr) target = fuzz::target_named(fuzz::value_targets(), name);
#ifdef PENSTOCK_FUZZ_REMOTE
    if (target == nullptr) target = fuzz::target_named(fuzz::remote_targets(), name);
#else
    if (target == nullptr) {
      std::printf("left out: %s, perhaps a target of remote/, which is not built here\n", name.c_str());
      continue;
    }
#endif
    if (target == nullptr) {
      std::fprintf(stderr, "fuzz_replay: no target for %s\n", named.path().c_str());
      return 1;
    }
    for (const fs::directory_entry& file : fs::directory_iterator(named)) {
      std::printf("%s\n", file.path().c_str());
      std::fflush(stdout);
      replay(*target, test::read_file(file.path()));
      ++inputs;
    }
  }
  for (const fuzz::Target& target : fuzz::file_targets()) replay(target, "");
  for (const fuzz::Target& target : fuzz::value_targets()) replay(target, "");
#ifdef PENSTOCK_FUZZ_REMOTE
  for (const fuzz::Target& target : fuzz::remote_targets()) replay(target, "");
#endif
  std::printf("fuzz_replay: %zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fuzz_replay: %s\n", error.what());
  return 1;
}
