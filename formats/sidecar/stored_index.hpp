// Builds the index of a foreign shard in a store by range reads, and stores the index on this machine.
#pragma once

#include <memory>
#include <vector>

#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/index/shard_pins.hpp>
#include <formats/places/object_store.hpp>

namespace penstock {

/// An index, and its files' objects with the versions for which it is valid.
struct StoredIndex {
  Index index;
  std::vector<std::shared_ptr<const StoredObject>> objects;  ///< by number of the file
};

/// Returns the shard's index. An index stored under the shard's address in index_folder() is valid if the versions,
/// lengths and times of the shard's objects (Format::watched) are unchanged. Otherwise format.index builds the index,
/// which is then stored. Objects with neither version nor time are indexed at each open. Nothing is written to the
/// store. If options change the index, format.index_with builds it at each call. If several processes need the same
/// index, one builds it. Call while a SeenPlaces is in use. Throws the errors of format.index, Format::watched and the
/// store.
StoredIndex stored_index(const Format& format, const std::filesystem::path& shard, const OpenOptions& options,
                         const OpenProgress& progress);

/// Returns pins that accept only these versions.
std::shared_ptr<const ShardPins> pins_of(const std::vector<std::shared_ptr<const StoredObject>>& objects);

}  // namespace penstock
