// Writes an LMDB shard through liblmdb.
#pragma once

#include <filesystem>
#include <memory>

#include <penstock/formats/writer.hpp>

namespace penstock {

/// Makes the folder `path` with data.mdb in it and no lock file. What add() and finish() throw stands in lmdb.hpp.
std::unique_ptr<ShardWriter> write_lmdb(const std::filesystem::path& path, const ShardOptions& options);

}  // namespace penstock
