// Finds and loads libraries of NVIDIA's when a program first asks for them. penstock never needs them.
#pragma once

#include <span>
#include <string>

#include <dlfcn.h>

#include <device/cuda/library_facts.hpp>

namespace penstock {

struct LateLibrary {
  const char* name;                        ///< for messages
  const char* variable;                    ///< of the environment, which may name the file
  std::span<const char* const> names;      ///< that the system knows it by, the newest first
  std::span<const char* const> in_wheels;  ///< its place in site-packages, beside the folder of penstock
  const char* incomplete;                  ///< what is said of one that lacks calls
};

/// A library's calls, if facts.problem is empty.
template <typename Calls>
struct LoadedLibrary {
  Calls calls;
  LibraryFacts facts;
};

/// Opens the file that the variable names, else one that the program has loaded, that of a wheel beside penstock's, or
/// the system's, and tells which. Null where there is none, and why.
void* opened(const LateLibrary& library, LibraryFacts& facts);

template <typename Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

/// Never fails: facts say what is missing. `find_all` is false where calls are; `version_of` is asked when all are
/// there.
template <typename Calls>
LoadedLibrary<Calls> load(const LateLibrary& library, bool (*find_all)(void* file, Calls& calls),
                          std::string (*version_of)(const Calls& calls)) {
  LoadedLibrary<Calls> found;
  void* const file = opened(library, found.facts);
  if (file == nullptr) return found;
  if (find_all(file, found.calls))
    found.facts.version = version_of(found.calls);
  else
    found.facts = {.library = {}, .version = {}, .problem = library.incomplete};
  return found;
}

}  // namespace penstock
