// Recognises files and folders that penstock keeps beside data, so that they are never read as data.
#pragma once

#include <string_view>

namespace penstock {

inline constexpr std::string_view kSidecarEnding = ".penstock-idx";

/// Returns whether penstock made the file with this name (without folders): a sidecar, its lock or its temporary file
/// (names that contain kSidecarEnding), penstock.json, or a journal of packing or staging.
bool is_own_file(std::string_view name);

/// Returns whether penstock made the folder `name` inside the open folder `parent`: a packed dataset, or an unfinished
/// one (DST.partial). `parent` may be AT_FDCWD.
bool is_own_folder(int parent, const char* name);

}  // namespace penstock
