// Finds and loads NVIDIA libraries when a program first asks for them. penstock does not require them.
#pragma once

#include <span>
#include <string>

#include <dlfcn.h>

#include <device/cuda/library_facts.hpp>

namespace penstock {

struct LateLibrary {
  const char* name;                        ///< for messages
  const char* variable;                    ///< environment variable that may name the file
  std::span<const char* const> names;      ///< names in the system's library paths, the newest first
  std::span<const char* const> in_wheels;  ///< paths in site-packages, next to the folder of penstock
  const char* incomplete;                  ///< message if the library lacks calls
};

/// The calls of a library; valid if facts.problem is empty.
template <typename Calls>
struct LoadedLibrary {
  Calls calls;
  LibraryFacts facts;
};

/// Opens the file that the variable names, otherwise one that the program has loaded, one of a wheel next to
/// penstock's, or the system's. `facts` receives the file. Returns null with the reason in `facts` if there is none.
void* opened(const LateLibrary& library, LibraryFacts& facts);

template <typename Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

/// Never fails: `facts` contains the problem. `find_all` returns false if calls are missing. `version_of` is called if
/// all of them exist.
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
