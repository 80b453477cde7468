// Libraries of NVIDIA's that penstock takes where they are, when a program first asks for them, and never needs.
#pragma once

#include <span>
#include <string>

#include <dlfcn.h>

namespace penstock {

struct LateLibrary {
  const char* variable;                    ///< of the environment, which may name the file
  std::span<const char* const> names;      ///< that the system knows it by, the newest first
  std::span<const char* const> in_wheels;  ///< its place in site-packages, beside the folder of penstock
};

/// Opens the file that the variable names, else one that the program has loaded, that of a wheel beside penstock's, or
/// the system's. Null where there is none; where the variable names one, dlerror() says why.
void* opened(const LateLibrary& library);

/// The file that a symbol comes from; empty when unknown.
std::string file_of(const void* symbol);

template <typename Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

}  // namespace penstock
