// The door that libFuzzer calls. The environment's PENSTOCK_FUZZ_TARGET names the target, one of the list that the
// build gives as PENSTOCK_FUZZ_TARGETS.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "fuzz/target.hpp"

namespace {

const penstock::fuzz::Target& chosen() {
  const char* name = std::getenv("PENSTOCK_FUZZ_TARGET");
  const penstock::fuzz::Target* target =
      name == nullptr ? nullptr : penstock::fuzz::target_named(penstock::fuzz::PENSTOCK_FUZZ_TARGETS(), name);
  if (target != nullptr) return *target;
  std::fprintf(stderr, "set PENSTOCK_FUZZ_TARGET to one of:");
  for (const auto& known : penstock::fuzz::PENSTOCK_FUZZ_TARGETS())
    std::fprintf(stderr, " %s", std::string(known.name).c_str());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const penstock::fuzz::Target target = chosen();
  penstock::fuzz::run(target, std::as_bytes(std::span(data, size)));
  return 0;
}
