// Opens packed datasets in stores and on web servers.
#pragma once

#include <filesystem>

#include <penstock/dataset.hpp>

namespace penstock {

/// As open_packed(), of an address, while a SeenPlaces is in use. Asks for penstock.json, and for the indexes unless
/// those of this penstock.json are kept in index_folder(); and, of stores that list, for versions and lengths of all
/// shards. Of web servers these are found out by the first read, and lengths are the manifest's.
Dataset open_stored_dataset(const std::filesystem::path& folder);

}  // namespace penstock
