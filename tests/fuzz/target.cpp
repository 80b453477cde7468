#include "fuzz/target.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <penstock/error.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

const Target* target_named(std::span<const Target> targets, std::string_view name) {
  for (const Target& target : targets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

void run(const Target& target, Input input) {
  try {
    target.parse(input);
  } catch (const Error& error) {
    require(std::strchr(error.what(), '\n') == nullptr, "an error of more than one line");
  }
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

}  // namespace penstock::fuzz
