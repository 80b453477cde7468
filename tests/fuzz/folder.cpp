// Where targets write files.
#include "fuzz/targets.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::fuzz {

const std::filesystem::path& folder() {
  static const test::TemporaryFolder folder;
  return folder.path();
}

std::filesystem::path as_file(Input input, const std::string& name) {
  std::filesystem::path path = folder() / name;
  test::write_file(path, text_of(input));
  return path;
}

}  // namespace penstock::fuzz
