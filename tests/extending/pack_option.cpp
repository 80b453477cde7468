// Uses the option of packing of docs/extending.md: it is in the table, with the default of its member.
#include <cstdlib>
#include <iostream>
#include <string>

#include <pack/option_table.hpp>

namespace {

void require(bool fits, const std::string& what) {
  if (fits) return;
  std::cerr << "pack_option: " << what << "\n";
  std::exit(1);
}

}  // namespace

int main() {
  for (const penstock::PackOption* option : penstock::pack_options_of(penstock::kOfPack)) {
    if (option->name != "sync_shards") continue;
    const penstock::PythonValue value = penstock::python_value(*option);
    require(value.type == "bool" && value.value == "False", "it is not of its type, or has another default");
    const std::string help = penstock::pack_options_for_python(penstock::kOfWriter);
    require(help.find("sync_shards: Waits until") != std::string::npos, "it has no help");
    return 0;
  }
  require(false, "it is not in the table");
}
