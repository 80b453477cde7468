#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <sys/stat.h>

#include <formats/dataset.hpp>
#include <formats/folder/folder_walk.hpp>
#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/io/hash.hpp>
#include <formats/io/path_pattern.hpp>
#include <formats/packed/combined_index.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/skip_report.hpp>
#include <formats/places/places.hpp>
#include <formats/places/seen_places.hpp>
#include <formats/sidecar/sidecar.hpp>
#include <penstock/error.hpp>
#include <staging/list.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool is_regular(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool of_pattern(const Dataset& dataset) {
  const std::string& path = dataset.path().native();
  std::error_code ignored;
  if (!is_pattern(path) || fs::exists(dataset.path(), ignored)) return false;
  // The name of an object or of a folder in a store may contain a pattern's characters.
  return !dataset.in_store() || !dataset.file(0).path.native().starts_with(path);
}

// Returns the part of a pattern before its first component with wildcards.
fs::path plain_part(const fs::path& pattern) {
  fs::path plain;
  for (const fs::path& part : pattern) {
    if (is_pattern(part.native())) break;
    plain /= part;
  }
  return plain.empty() ? fs::path(".") : plain;
}

// Returns the dataset's folder. If the dataset was opened by the name of one of its objects, that is the object's
// folder.
fs::path root_in_store(const Dataset& dataset) {
  const fs::path& path = dataset.path();
  const std::string_view list = format_of(dataset).list_file;
  bool named = !list.empty() && path.filename() == list;
  for (std::uint32_t file = 0; file < dataset.file_count(); ++file) named = named || dataset.file(file).path == path;
  return named ? path.parent_path() : path;
}

class Lister {
 public:
  explicit Lister(const Dataset& dataset) : dataset_(dataset) {}

  StageList list() {
    const fs::path& path = dataset_.path();
    const bool pattern = of_pattern(dataset_);
    std::error_code ignored;
    list_.single = dataset_.file_count() == 1 &&
                   (dataset_.in_store() ? dataset_.file(0).path == path
                                        : is_regular(path) && fs::equivalent(dataset_.file(0).path, path, ignored));
    list_.root = pattern ? plain_part(path) : dataset_.in_store() ? root_in_store(dataset_) : root_of(path);
    if (pattern) list_.opens = path.lexically_relative(list_.root).string();
    list_.whole_folder = dataset_.packed() || format_.loose;
    // A table is opened by its own name, because its folder is not a dataset of the format.
    const bool by_name = !pattern && !list_.single && !list_.whole_folder && is_regular(path);
    if (by_name && format_.find_shards(list_.root).empty()) list_.opens = path.filename().string();
    if (dataset_.in_store()) {
      add_objects();
    } else if (list_.whole_folder) {
      add_visible();
    } else {
      add_indexed();
    }
    if (dataset_.packed()) take_checksums();
    std::sort(list_.folders.begin(), list_.folders.end());
    return std::move(list_);
  }

 private:
  void add(const fs::path& source, std::string name) {
    StageFile file{.source = source, .name = std::move(name)};
    stat_file(source, file.size, file.modified);
    list_.files.push_back(std::move(file));
  }

  void add_visible() {
    walk_folder(list_.root, {.file =
                                 [&](std::string_view name, std::uint64_t) {
                                   if (format_.is_lock == nullptr || !format_.is_lock(name))
                                     add(list_.root / name, std::string(name));
                                 },
                             .folder = [&](std::string_view name) { list_.folders.emplace_back(name); },
                             .own_files = true});
    std::ranges::sort(list_.files, {}, &StageFile::name);
  }

  void add_indexed() {
    std::set<std::string> folders, names;
    const auto take = [&](const fs::path& source) {
      const fs::path name = list_.single ? source.filename() : source.lexically_relative(list_.root);
      if (name.empty() || *name.begin() == "..")
        throw Error::unsupported("the dataset's file " + source.string() + " is outside " + list_.root.string());
      if (!names.insert(name.string()).second) return;
      add(source, name.string());
      for (fs::path above = name.parent_path(); !above.empty(); above = above.parent_path())
        folders.insert(above.string());
    };
    for (std::uint32_t file = 0; file < dataset_.file_count(); ++file) take(dataset_.file(file).path);
    for (const fs::path& list : list_files()) take(list);
    list_.folders.assign(folders.begin(), folders.end());
  }

  std::vector<fs::path> list_files() const {
    std::vector<fs::path> all;
    if (format_.list_file.empty()) return all;
    for (std::size_t shard = 0; shard < dataset_.shard_count(); ++shard)
      all.push_back(dataset_.shard(shard).root / format_.list_file);
    return all;
  }

  // For objects of the dataset, uses the version that was opened, if it is known.
  void add_objects() {
    SeenPlaces seen;
    const SeenPlaces::Use use(&seen);
    std::map<fs::path, std::shared_ptr<const StoredObject>> opened;
    std::vector<fs::path> wanted;
    for (std::uint32_t file = 0; file < dataset_.file_count(); ++file) {
      const auto& object = dataset_.stored_object(file);
      const fs::path place = dataset_.file(file).path;
      if (opened.emplace(place, object).second) wanted.push_back(place);
    }
    std::vector<fs::path> beside;
    if (dataset_.packed()) {
      for (const ManifestShard& shard : Manifest::from_json(dataset_.attributes()).shards)
        wanted.push_back(list_.root / index_name(shard.name));
      wanted.push_back(list_.root / Manifest::kFileName);
      for (const std::string_view name : {std::string_view(kCombinedIndexName), SkipReport::kFileName})
        beside.push_back(list_.root / name);
    }
    for (fs::path& list : list_files()) wanted.push_back(std::move(list));
    std::vector<fs::path> all = wanted;
    all.insert(all.end(), beside.begin(), beside.end());
    expect_places(all);
    std::set<std::string> folders, names;
    for (const fs::path& place : wanted) add_object(place, opened, folders, names);
    for (const fs::path& place : beside) {
      if (penstock::is_file(place)) add_object(place, opened, folders, names);
    }
    list_.folders.assign(folders.begin(), folders.end());
    std::ranges::sort(list_.files, {}, &StageFile::name);
  }

  void add_object(const fs::path& place, const std::map<fs::path, std::shared_ptr<const StoredObject>>& opened,
                  std::set<std::string>& folders, std::set<std::string>& names) {
    const fs::path name = list_.single ? place.filename() : place.lexically_relative(list_.root);
    if (name.empty() || *name.begin() == "..")
      throw Error::unsupported("the dataset's file " + place.string() + " is outside " + list_.root.string());
    if (!names.insert(name.string()).second) return;
    auto object = object_at(place);
    if (const auto known = opened.find(place); known != opened.end()) {
      const ObjectInfo& then = known->second->state();
      if (then.size != object->info.size || (!then.version.empty() && then.version != object->info.version))
        throw Error(ErrorKind::io, "changed since the dataset was opened", {.shard = name.string()});
    }
    const ObjectInfo& info = object->info;
    list_.files.push_back({.source = place,
                           .name = name.string(),
                           .size = info.size,
                           .modified = static_cast<std::int64_t>(mix64(hash64(info.version)) >> 1) ^ info.modified,
                           .object = std::move(object)});
    for (fs::path above = name.parent_path(); !above.empty(); above = above.parent_path())
      folders.insert(above.string());
  }

  // The checksum in penstock.json covers all files of a shard. It is therefore that of a file only if the shard has one
  // file.
  void take_checksums() {
    const Manifest manifest = Manifest::from_json(dataset_.attributes());
    std::unordered_map<std::string, std::size_t> shard_of;
    for (std::size_t shard = 0; shard < dataset_.shard_count(); ++shard) {
      const Index& index = dataset_.shard(shard).index;
      if (index.file_count() == 1) shard_of.emplace(index.file(0).path, shard);
    }
    for (StageFile& file : list_.files) {
      const auto found = shard_of.find(file.name);
      if (found == shard_of.end()) continue;
      file.shard = found->second;
      file.crc32c = manifest.shards.at(found->second).crc32c;
    }
  }

  const Dataset& dataset_;
  const Format& format_ = format_of(dataset_);
  StageList list_;
};

}  // namespace

StageList list_stage_files(const Dataset& dataset) {
  try {
    return Lister(dataset).list();
  } catch (const Error& error) {
    throw error.in({.dataset = dataset.path().string()});
  }
}

void stat_file(const fs::path& path, std::uint64_t& size, std::int64_t& modified) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw Error::io(errno, "cannot stat " + path.string());
  size = static_cast<std::uint64_t>(status.st_size);
  modified = static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

fs::path shard_path(const Dataset& dataset, std::size_t shard) {
  const std::string& name = dataset.shard(shard).name;
  if (of_pattern(dataset)) return name;
  // A folder may have the same name as a file in it.
  const Format& format = format_of(dataset);
  if (format.loose) return dataset.path();
  // The dataset may have been opened by the path of its list.
  if (!format.list_file.empty()) return dataset.shard(shard).root;
  const fs::path below = dataset.path() / name;
  if (dataset.in_store()) return dataset.file(0).path == dataset.path() ? dataset.path() : below;
  return !name.empty() && (is_regular(below) || dataset.shard(shard).root == below) ? below : dataset.path();
}

}  // namespace penstock
