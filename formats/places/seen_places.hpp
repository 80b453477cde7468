// Remembers what stores told while a dataset is opened: one state of each object, and few requests.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <formats/io/byte_source.hpp>
#include <formats/places/object_store.hpp>

namespace penstock {

/// What is asked of addresses (places.hpp) while one of these is in use is asked of the store once. Any number of
/// threads may use it.
class SeenPlaces {
 public:
  /// Makes `seen` the one that the calling thread asks, and the one before it again when it goes.
  class Use {
   public:
    explicit Use(SeenPlaces* seen);
    ~Use();
    Use(Use&&) = delete;

   private:
    SeenPlaces* const before_;
  };
  static SeenPlaces* current();  ///< of the calling thread; null: none

  /// The object in the state in which it was first found; null: there is none. Throws Error: io.
  std::shared_ptr<const StoredObject> find(const std::string& address);
  /// Those of them that are not known are asked for together, or by one listing where that is less.
  void find_all(std::span<const std::string> addresses);
  const std::vector<ListedObject>& list(const std::string& folder);
  /// All bytes of a small object; none where there is none.
  std::optional<std::vector<std::byte>> read_whole(const std::string& address, std::uint64_t most);
  /// A source of the object that several readers share, each while it is kept.
  std::shared_ptr<const ByteSource> source(const std::shared_ptr<const StoredObject>& object);
  void forget_source(const std::string& address);
  /// Whether something was found below it, or nothing; nothing is said where nobody has looked.
  std::optional<bool> is_folder(const std::string& address) const;

 private:
  void learn(const std::string& address, const std::optional<ObjectInfo>& info);

  mutable std::mutex mutex_;  // guards all below; not held while a store is asked
  std::map<std::string, std::shared_ptr<const StoredObject>> objects_;  // null: there is none
  std::map<std::string, std::vector<ListedObject>> listings_;
  std::set<std::string> folders_;  // that listings told of
  std::map<std::string, std::vector<std::byte>> wholes_;
  std::map<std::string, std::shared_ptr<const ByteSource>> sources_;
};

}  // namespace penstock
