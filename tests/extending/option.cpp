// Uses the option of docs/extending.md: it is in the table, with the default of its member.
#include <cstdlib>
#include <iostream>
#include <string>

#include <loader/options/option_table.hpp>

namespace {

void require(bool fits, const std::string& what) {
  if (fits) return;
  std::cerr << "option: " << what << "\n";
  std::exit(1);
}

}  // namespace

int main() {
  const penstock::PythonValue value = penstock::python_value(penstock::loader_option("read_options.patience"));
  require(value.type == "int" && value.value == "3", "it is not of its type, or has another default");
  require(penstock::options_for_python("read_options").find("patience: Reads of a value") != std::string::npos,
          "it has no help");
}
