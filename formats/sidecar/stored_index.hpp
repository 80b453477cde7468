// Makes the index of a foreign shard in a store, by ranges, and keeps it on this machine.
#pragma once

#include <memory>
#include <vector>

#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/index/shard_pins.hpp>
#include <formats/places/object_store.hpp>

namespace penstock {

/// An index, and the objects that its files are, in the state in which it is the right one.
struct StoredIndex {
  Index index;
  std::vector<std::shared_ptr<const StoredObject>> objects;  ///< by number of the file
};

/// The shard's index: the one kept under its address in index_folder(), where versions, lengths and times of the
/// shard's objects (Format::watched) are those it was made of, else made by format.index and kept. Objects that tell
/// neither version nor time are indexed at each open. Nothing is written to the store. Options
/// that change the index have it made at each call, by format.index_with. Processes that need the same
/// index make it once. To be called while a SeenPlaces is in use. Throws Error: what format.index, Format::watched and
/// the store throw.
StoredIndex stored_index(const Format& format, const std::filesystem::path& shard, const OpenOptions& options,
                         const OpenProgress& progress);

/// Pins that hold for these states alone.
std::shared_ptr<const ShardPins> pins_of(const std::vector<std::shared_ptr<const StoredObject>>& objects);

}  // namespace penstock
