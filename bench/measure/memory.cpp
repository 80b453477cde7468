#include <fstream>
#include <string>

#include <bench/measure/memory.hpp>

namespace penstock {

std::uint64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    std::uint64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

// Source: proc(5), /proc/pid/clear_refs: 5 resets the peak resident set size.
void forget_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace penstock
