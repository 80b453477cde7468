// Opens and validates datasets made by `penstock pack`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/packed/manifest.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Opens the folder of a penstock.json by its stored indexes, without a scan. Each index must match the manifest, and
/// each shard must have its original length. Throws Error: io; corrupt, unsupported (a later version), with the file.
Dataset open_packed(const std::filesystem::path& folder);

/// Returns the dataset that the manifest describes, with these shards. `text` is the text of the manifest. Throws
/// Error: corrupt, if the numbers of samples are inconsistent.
Dataset dataset_of(const std::filesystem::path& folder, Manifest manifest, std::string text,
                   std::vector<Dataset::Shard> shards);

/// Reads one shard of a packed dataset, including its index, and compares the checksums with penstock.json. Throws
/// Error: io; corrupt, with the shard; invalid_argument, if the dataset is not packed.
void verify_shard(const Dataset& dataset, std::size_t shard);

}  // namespace penstock
