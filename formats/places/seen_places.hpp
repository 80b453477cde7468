// Caches answers of stores while a dataset is opened: one version of each object, and few requests.
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

/// While an instance is in use, the functions of places.hpp send each request to the store once. Thread-safe.
class SeenPlaces {
 public:
  /// Makes `seen` the instance of the calling thread, and restores the previous one at the end.
  class Use {
   public:
    explicit Use(SeenPlaces* seen);
    ~Use();
    Use(Use&&) = delete;

   private:
    SeenPlaces* const before_;
  };
  static SeenPlaces* current();  ///< of the calling thread; null: none

  /// Returns the object in the version that was first found. Null if there is none. Throws Error: io.
  std::shared_ptr<const StoredObject> find(const std::string& address);
  /// Looks up the unknown ones among them concurrently, or by one listing if that needs fewer requests.
  void find_all(std::span<const std::string> addresses);
  const std::vector<ListedObject>& list(const std::string& folder);
  /// Returns all bytes of a small object. Returns nothing if there is no such object.
  std::optional<std::vector<std::byte>> read_whole(const std::string& address, std::uint64_t most);
  /// Returns a source of the object that several readers share. Each source is kept until forget_source().
  std::shared_ptr<const ByteSource> source(const std::shared_ptr<const StoredObject>& object);
  void forget_source(const std::string& address);
  /// Returns whether something was found below the address. Returns nothing if no request has answered that yet.
  std::optional<bool> is_folder(const std::string& address) const;

 private:
  void learn(const std::string& address, const std::optional<ObjectInfo>& info);

  mutable std::mutex mutex_;  // guards all members below; not held during store requests
  std::map<std::string, std::shared_ptr<const StoredObject>> objects_;  // null: no such object
  std::map<std::string, std::vector<ListedObject>> listings_;
  std::set<std::string> folders_;  // found by listings
  std::map<std::string, std::vector<std::byte>> wholes_;
  std::map<std::string, std::shared_ptr<const ByteSource>> sources_;
};

}  // namespace penstock
