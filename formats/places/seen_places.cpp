#include <algorithm>
#include <utility>

#include <base/parallel_for.hpp>
#include <formats/places/address.hpp>
#include <formats/places/seen_places.hpp>
#include <formats/places/stored_source.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr unsigned kAskedAtOnce = 16;
constexpr std::size_t kWorthListing = 64;  // objects of one folder: one listing returns a thousand

thread_local SeenPlaces* current_places = nullptr;

std::string folder_of(const std::string& address) {
  return address.substr(0, address.rfind('/'));
}

}  // namespace

SeenPlaces::Use::Use(SeenPlaces* seen) : before_(std::exchange(current_places, seen)) {}

SeenPlaces::Use::~Use() {
  current_places = before_;
}

SeenPlaces* SeenPlaces::current() {
  return current_places;
}

void SeenPlaces::learn(const std::string& address, const std::optional<ObjectInfo>& info) {
  const std::scoped_lock lock(mutex_);
  auto object = info ? std::make_shared<const StoredObject>(StoredObject{.address = address, .info = *info}) : nullptr;
  objects_.try_emplace(address, std::move(object));
}

std::shared_ptr<const StoredObject> SeenPlaces::find(const std::string& address) {
  const auto known = [&]() -> std::optional<std::shared_ptr<const StoredObject>> {
    const std::scoped_lock lock(mutex_);
    if (const auto found = objects_.find(address); found != objects_.end()) return found->second;
    if (listings_.contains(folder_of(address))) return nullptr;
    return std::nullopt;
  };
  if (auto found = known()) return *found;
  learn(address, object_store().find(address));
  return *known();
}

void SeenPlaces::find_all(std::span<const std::string> addresses) {
  std::vector<std::string> unknown;
  std::map<std::string, std::size_t> folders;
  {
    const std::scoped_lock lock(mutex_);
    for (const std::string& address : addresses) {
      if (objects_.contains(address) || listings_.contains(folder_of(address))) continue;
      unknown.push_back(address);
      ++folders[folder_of(address)];
    }
  }
  for (const auto& [folder, count] : folders) {
    if (count > kWorthListing && !lists_nothing(folder)) list(folder);
  }
  parallel_for(unknown.size(), std::min<unsigned>(kAskedAtOnce, static_cast<unsigned>(unknown.size())),
               [&](std::uint64_t item) { find(unknown[item]); });
}

const std::vector<ListedObject>& SeenPlaces::list(const std::string& folder) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = listings_.find(folder); known != listings_.end()) return known->second;
  }
  std::vector<ListedObject> found = object_store().list(folder);
  const std::scoped_lock lock(mutex_);
  for (const ListedObject& one : found) {
    const std::string address = folder + "/" + one.name;
    if (one.is_folder) {
      folders_.insert(address);
      continue;
    }
    objects_.try_emplace(address, std::make_shared<const StoredObject>(StoredObject{address, one.info}));
  }
  return listings_.try_emplace(folder, std::move(found)).first->second;
}

std::optional<std::vector<std::byte>> SeenPlaces::read_whole(const std::string& address, std::uint64_t most) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = wholes_.find(address); known != wholes_.end()) return known->second;
    if (const auto known = objects_.find(address); known != objects_.end() && known->second == nullptr)
      return std::nullopt;
    if (!objects_.contains(address) && listings_.contains(folder_of(address))) return std::nullopt;
  }
  ObjectInfo info;
  auto bytes = object_store().read_whole(address, info, most);
  learn(address, bytes ? std::optional(info) : std::nullopt);
  if (!bytes) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const ObjectInfo& first = objects_.at(address)->info;
  const bool same =
      first.size == bytes->size() && (first.version.empty() || info.version.empty() || first.version == info.version);
  if (!same) throw Error(ErrorKind::io, "changed while it was read", {.shard = address});
  constexpr std::size_t kKept = std::size_t{16} << 20;  // the files that formats read repeatedly are smaller
  if (bytes->size() <= kKept) wholes_.try_emplace(address, *bytes);
  return bytes;
}

std::shared_ptr<const ByteSource> SeenPlaces::source(const std::shared_ptr<const StoredObject>& object) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const ByteSource>& kept = sources_[object->address];
  if (kept == nullptr) kept = open_stored_source(object, Access::in_order);
  return kept;
}

void SeenPlaces::forget_source(const std::string& address) {
  std::shared_ptr<const ByteSource> gone;
  const std::scoped_lock lock(mutex_);
  if (const auto kept = sources_.find(address); kept != sources_.end()) {
    gone = std::move(kept->second);
    sources_.erase(kept);
  }
}

std::optional<bool> SeenPlaces::is_folder(const std::string& address) const {
  const std::string prefix = address + "/";
  const std::scoped_lock lock(mutex_);
  if (const auto listed = listings_.find(address); listed != listings_.end()) return !listed->second.empty();
  if (folders_.contains(address)) return true;
  for (auto found = objects_.lower_bound(prefix); found != objects_.end() && found->first.starts_with(prefix);
       ++found) {
    if (found->second != nullptr) return true;
  }
  if (const auto object = objects_.find(address); object != objects_.end() && object->second != nullptr) return false;
  if (listings_.contains(folder_of(address))) return false;
  return std::nullopt;
}

}  // namespace penstock
