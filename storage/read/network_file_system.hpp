// Recognizes file systems that are not a local disk of this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace penstock {

/// Returns the name of the network file system with this number (statfs(2)), such as "NFS"; empty for others.
std::string_view network_file_system(std::uint64_t type);

/// Returns the name for the file system of a file or folder; empty if it cannot be determined.
std::string_view network_file_system(const std::filesystem::path& path);

}  // namespace penstock
