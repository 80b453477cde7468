// Opens packed datasets in stores and on web servers.
#pragma once

#include <filesystem>

#include <penstock/dataset.hpp>

namespace penstock {

/// Like open_packed(), for an address, while a SeenPlaces is in use. Requests penstock.json, and the indexes unless
/// index_folder() holds those of this penstock.json. For stores that list, also requests versions and lengths of all
/// shards. On web servers the first read finds the versions, and lengths come from the manifest.
Dataset open_stored_dataset(const std::filesystem::path& folder);

}  // namespace penstock
