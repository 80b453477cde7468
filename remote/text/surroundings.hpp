// What the process finds around it: variables and small files of settings.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace penstock {

/// None where it is not set, or empty.
std::optional<std::string> variable(const char* name);

/// "1", "true", "yes" or "on", in any case.
bool is_switched_on(const char* name);

/// None where there is no such file. Throws Error: io, naming the path; resource, for more than 1 MiB.
std::optional<std::string> small_file(const std::filesystem::path& path);

/// With a leading "~/" in its long form.
std::filesystem::path in_home(const std::string& path);

}  // namespace penstock
