// The environment of the process: variables and small settings files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace penstock {

/// Returns nothing if it is not set or empty.
std::optional<std::string> variable(const char* name);

/// Returns true for "1", "true", "yes" and "on", in any case.
bool is_switched_on(const char* name);

/// Returns nothing if the file does not exist. Throws Error: io, naming the path; resource, if it exceeds 1 MiB.
std::optional<std::string> small_file(const std::filesystem::path& path);

/// Expands a leading "~/".
std::filesystem::path in_home(const std::string& path);

}  // namespace penstock
