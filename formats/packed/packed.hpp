// Opens and proves datasets made by `penstock pack`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/packed/manifest.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Opens the folder of a penstock.json by its durable indexes; nothing is scanned. Each index must be the one that the
/// manifest names, and each shard as long as it was.
/// Throws Error: io; corrupt, unsupported (a later version), naming the file.
Dataset open_packed(const std::filesystem::path& folder);

/// The dataset that the manifest describes, whose shards these are; `text`: the manifest's own. Throws Error: corrupt,
/// where their samples do not add up.
Dataset dataset_of(const std::filesystem::path& folder, Manifest manifest, std::string text,
                   std::vector<Dataset::Shard> shards);

/// Reads one shard of a packed dataset, its index included, and compares the checksums with penstock.json.
/// Throws Error: io; corrupt, naming the shard; invalid_argument, when the dataset is not packed.
void verify_shard(const Dataset& dataset, std::size_t shard);

}  // namespace penstock
