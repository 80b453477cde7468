#include <algorithm>
#include <array>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <formats/io/own_files.hpp>

namespace penstock {
namespace {

// Journals in DST.partial: for packing, for joining the parts of a packing, and for staging.
constexpr std::array<const char*, 3> kJournals{"unfinished.jsonl", "joining.json", ".penstock-stage.jsonl"};

}  // namespace

bool is_own_file(std::string_view name) {
  return name.find(kSidecarEnding) != std::string_view::npos || name == "penstock.json" ||
         name == "penstock.partial.jsonl" || name == "penstock.staging.jsonl";
}

bool is_own_folder(int parent, const char* name) {
  const auto holds = [&](const char* file) {
    return ::faccessat(parent, (std::string(name) + "/" + file).c_str(), F_OK, 0) == 0;
  };
  return holds("penstock.json") ||
         (std::string_view(name).ends_with(".partial") && std::ranges::any_of(kJournals, holds));
}

}  // namespace penstock
