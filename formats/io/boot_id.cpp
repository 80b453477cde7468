#include <fstream>

#include <formats/io/boot_id.hpp>

namespace penstock {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

}  // namespace penstock
