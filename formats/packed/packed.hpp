// Opens and proves datasets made by `penstock pack`.
#pragma once

#include <cstdint>
#include <filesystem>

#include <penstock/formats/dataset.hpp>

namespace penstock {

/// Opens the folder of a penstock.json by its durable indexes; nothing is scanned. Each index must be the one that the
/// manifest names, and each shard as long as it was.
/// Throws Error: io; corrupt, unsupported (a later version), naming the file.
Dataset open_packed(const std::filesystem::path& folder);

/// Reads one shard of a packed dataset, its index included, and compares the checksums with penstock.json.
/// Throws Error: io; corrupt, naming the shard; invalid_argument, when the dataset is not packed.
void verify_shard(const Dataset& dataset, std::size_t shard);

}  // namespace penstock
