#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <penstock/base/error.hpp>
#include <penstock/base/handled_error.hpp>
#include <penstock/base/parallel_for.hpp>
#include <penstock/formats/folder/folder.hpp>
#include <penstock/formats/format.hpp>
#include <penstock/formats/hdf5/hdf5.hpp>
#include <penstock/formats/index/sidecar.hpp>
#include <penstock/formats/index/stored_index.hpp>
#include <penstock/formats/io/folder_entries.hpp>
#include <penstock/formats/io/path_pattern.hpp>
#include <penstock/formats/labels/shared_classes.hpp>
#include <penstock/formats/lmdb/lmdb.hpp>
#include <penstock/formats/mds/mds.hpp>
#include <penstock/formats/megatron/megatron.hpp>
#include <penstock/formats/npy/npy.hpp>
#include <penstock/formats/packed/commit.hpp>
#include <penstock/formats/packed/dataset_upload.hpp>
#include <penstock/formats/packed/journal.hpp>
#include <penstock/formats/packed/manifest.hpp>
#include <penstock/formats/packed/packed.hpp>
#include <penstock/formats/packed/parts.hpp>
#include <penstock/formats/packed/stored_dataset.hpp>
#include <penstock/formats/places/places.hpp>
#include <penstock/formats/places/seen_places.hpp>
#include <penstock/formats/tar/tar.hpp>
#include <penstock/formats/tfrecord/tfrecord.hpp>
#include <penstock/formats/zip/zip.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// The packings, in the order open() tries them. A folder of files comes last: it takes whatever lies in a folder.
const std::array kFormats{&kTar, &kLmdb, &kHdf5, &kMds, &kTfrecord, &kNpy, &kMegatron, &kZip, &kFolder};

[[noreturn]] void refuse(const fs::path& path, std::string why) {
  throw Error::invalid_argument(std::move(why), {.dataset = path.string()});
}

constexpr const char* kUnfinished = "is an unfinished dataset: run pack --resume (resume=True)";
constexpr const char* kIncompleteCopy = "is a copy that is not complete: stage it again";

std::string unfinished(const fs::path& partial) {
  std::error_code ignored;
  if (fs::exists(partial / kStageJournal, ignored)) return partial.string() + " " + kIncompleteCopy;
  return partial.string() + " " +
         (holds_parts(partial) ? "holds the parts of an unfinished dataset: run pack --finish (ps.finish_pack)"
                               : kUnfinished);
}

void require_readable(const fs::path& path) {
  if (is_address(path)) {
    if (!is_file(path) && !is_folder(path)) throw Error::io(ENOENT, "cannot open", {.dataset = path.string()});
    return;
  }
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (status.type() == fs::file_type::not_found) {
    const fs::path partial = path.string() + ".partial";
    if (fs::exists(partial, failure)) refuse(path, "does not exist, but " + unfinished(partial));
    if (path.string().starts_with('~'))
      refuse(path, "does not exist: ~ is known to shells alone, so give the whole path (os.path.expanduser in Python)");
    throw Error::io(ENOENT, "cannot open", {.dataset = path.string()});
  }
  if (failure) throw Error::io(failure.value(), "cannot open", {.dataset = path.string()});
  const int needed = fs::is_directory(status) ? R_OK | X_OK : R_OK;
  if (::faccessat(AT_FDCWD, path.c_str(), needed, AT_EACCESS) != 0)
    throw Error::io(errno, "cannot read", {.dataset = path.string()});
  if (!fs::is_directory(status) && !fs::is_regular_file(status)) refuse(path, "is neither a file nor a folder");
}

// For messages: relative to the dataset where it lies inside.
std::string name_of(const fs::path& file, const fs::path& dataset) {
  if (file == dataset) return file.filename().string();
  const fs::path relative = file.lexically_relative(dataset);
  return relative.empty() || *relative.begin() == ".." ? file.string() : relative.string();
}

// What the user's own function threw on its way through open(), which is not open()'s to change.
struct Stopped {
  std::exception_ptr by;
};

Dataset::Shard shard_of_store(const Format& format, const fs::path& file, std::string name,
                              const OpenProgress& progress) {
  if (&format == format_named(kLmdb.name)) {
    throw Error::unsupported(
        "LMDB files of others are read from a disk alone: copy this one there with the store's own tool; packed there "
        "(penstock pack), it makes shards that are read from stores");
  }
  StoredIndex stored = stored_index(format, file, progress);
  SeenPlaces::current()->forget_source(file.native());
  for (const auto& object : stored.objects) SeenPlaces::current()->forget_source(object->address);
  auto pins = pins_of(stored.objects);
  return {.index = std::move(stored.index),
          .root = root_of(file),
          .name = std::move(name),
          .pins = std::move(pins),
          .objects = std::move(stored.objects)};
}

Dataset::Shard open_shard(const Format& format, const fs::path& path, const fs::path& file,
                          const OpenProgress& progress) {
  std::string name = name_of(file, path);
  try {
    if (is_address(file)) return shard_of_store(format, file, name, progress);
    ProvenIndex proven = sidecar_index(format, file, progress);
    auto pins = proven.pins(format, file);
    return {.index = std::move(proven.index), .root = root_of(file), .name = name, .pins = std::move(pins)};
  } catch (const Stopped&) {
    throw;
  } catch (...) {
    throw handled_error({.dataset = path.string(), .shard = file == path ? "" : name});
  }
}

// A store answers many as fast as one.
constexpr unsigned kShardsAtOnce = 16;

std::vector<Dataset::Shard> open_stored_shards(const Format& format, const fs::path& path,
                                               const std::vector<fs::path>& files, const OpenProgress& progress) {
  std::vector<std::optional<Dataset::Shard>> opened(files.size());
  SeenPlaces* const seen = SeenPlaces::current();
  parallel_for(
      files.size(), std::min<unsigned>(kShardsAtOnce, static_cast<unsigned>(files.size())),
      [&](std::uint64_t i) {
        const SeenPlaces::Use use(seen);
        opened[i] = open_shard(format, path, files[i], {});
      },
      [&](std::uint64_t done, std::uint64_t count) {
        if (progress) progress(done, count);
        return true;
      });
  std::vector<Dataset::Shard> shards;
  for (auto& shard : opened) shards.push_back(std::move(*shard));
  return shards;
}

Dataset open_foreign(const Format& format, const fs::path& path, const std::vector<fs::path>& files,
                     const OpenProgress& progress) {
  std::vector<Dataset::Shard> shards;
  if (files.size() > 1 && std::ranges::all_of(files, is_address)) {
    expect_places(files);
    shards = open_stored_shards(format, path, files, progress);
  } else {
    for (const fs::path& file : files) shards.push_back(open_shard(format, path, file, progress));
  }
  std::string attributes(shards.front().index.attributes());
  std::vector<std::string> classes = share_classes(shards);
  return Dataset(path, std::string(format.name), std::move(shards), std::move(classes), false, std::move(attributes));
}

// The shards at `path` by `format`, which is found first where it is not known yet. Folders of files are no shards.
std::vector<fs::path> find_by(const Format*& format, const fs::path& path) {
  if (format != nullptr) return format->find_shards(path);
  for (const Format& candidate : formats()) {
    if (candidate.name == kFolder.name) continue;
    std::vector<fs::path> shards = candidate.find_shards(path);
    if (shards.empty()) continue;
    format = &candidate;
    return shards;
  }
  return {};
}

// All of a pattern's files are shards of one packing.
Dataset open_files(std::span<const fs::path> files, const fs::path& pattern, const OpenProgress& progress) {
  if (files.empty()) refuse(pattern, "matches no file");
  std::vector<fs::path> shards;
  const Format* found = nullptr;
  expect_places(files);
  for (const fs::path& file : files) {
    require_readable(file);
    if (is_address(file) && found != nullptr && is_file(file) && file.extension() == shards.front().extension()) {
      shards.push_back(file);  // its first bytes are looked at when it is indexed
      continue;
    }
    if (is_address(file) ? is_folder(file) && is_file(file / Manifest::kFileName)
                         : fs::exists(file / Manifest::kFileName))
      refuse(pattern, "matches " + file.string() + ", which penstock packed: open it alone");
    const std::vector<fs::path> own = find_by(found, file);
    if (own.empty()) {
      refuse(pattern, "matches " + file.string() + ", which is no " +
                          (found == nullptr ? "file of a known kind" : std::string(found->name) + " shard"));
    }
    shards.insert(shards.end(), own.begin(), own.end());
  }
  return open_foreign(*found, pattern, shards, progress);
}

[[noreturn]] void refuse_unknown(const fs::path& path) {
  std::string names;
  for (const Format& format : formats()) names += (names.empty() ? "" : ", ") + std::string(format.name);
  if (!is_folder(path)) {
    const bool perhaps_mixture = path.extension() == ".json";
    refuse(path,
           "is a file of no known kind (known: " + names + ")" +
               (perhaps_mixture ? "; the file of a mixture is what ps.mixture() takes, in C++ read_mixture(), and "
                                  "of the commands bench, tune and show"
                                : ""));
  }
  refuse(path, !is_address(path) && is_empty_folder(path) ? "is an empty folder"
                                                          : "is a folder of no known kind (known: " + names + ")");
}

}  // namespace

std::span<const Format> formats() {
  static const std::vector<Format> list = [] {
    std::vector<Format> copies;
    for (const Format* format : kFormats) copies.push_back(*format);
    return copies;
  }();
  return list;
}

const Format* format_named(std::string_view name) {
  for (const Format& format : formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

namespace {

// A store that may be read and not listed is like a web server.
bool is_packed_in_store(const fs::path& address) {
  const fs::path manifest = address / Manifest::kFileName;
  if (!lists_nothing(address)) {
    try {
      return is_folder(address) && is_file(manifest);
    } catch (const Error&) {
      if (!SeenPlaces::current()->read_whole(manifest.native(), Manifest::kLongest)) throw;
      return true;
    }
  }
  return SeenPlaces::current()->read_whole(manifest.native(), Manifest::kLongest).has_value();
}

// Shards of an upload that did not finish are no dataset yet.
void require_finished(const fs::path& address) {
  if (lists_nothing(address) || !is_folder(address)) return;
  if (is_file(address / DatasetUpload::kJournal)) refuse(address, kUnfinished);
  if (is_file(address / kStoreStageJournal)) refuse(address, kIncompleteCopy);
}

// `given` is what the user wrote, of which `address` is what may be shown.
Dataset open_address(const fs::path& given, const fs::path& address, const OpenProgress& progress) {
  if (is_pattern_of_places(address)) return open_files(expand_places(given), address, progress);
  if (address.filename() == Manifest::kFileName) return open_stored_dataset(address.parent_path());
  if (is_packed_in_store(address)) return open_stored_dataset(address);
  require_finished(address);
  for (const Format& format : formats()) {
    if (format.name == kFolder.name) break;
    const std::vector<fs::path> shards = format.find_shards(address);
    if (!shards.empty()) return open_foreign(format, address, shards, progress);
  }
  require_readable(address);
  if (!is_folder(address)) {
    if (lists_nothing(address) && !address.has_extension())
      refuse(address,
             "no dataset packed by penstock lies there, and web servers list nothing: name the shards of others "
             "(shard-{000..009}.tar)");
    refuse_unknown(address);
  }
  refuse(address,
         "is a folder of no known shards: loose files are not read from stores, so pack them (penstock pack "
         "SOURCE DESTINATION), or copy them to a disk");
}

Dataset open_any(const fs::path& path, const OpenProgress& progress) {
  if (is_pattern_of_places(path)) {
    std::vector<fs::path> files = expand_pattern(path.native());
    std::erase_if(files, [](const fs::path& file) { return file.native().find(kSidecarEnding) != std::string::npos; });
    return open_files(files, path, progress);
  }
  require_readable(path);
  if (path.filename() == Manifest::kFileName) return open_packed(root_of(path));
  if (is_unfinished(path)) refuse(path, unfinished(path));
  std::error_code ignored;
  if (fs::exists(path / Manifest::kFileName, ignored)) return open_packed(path);
  for (const Format& format : formats()) {
    const std::vector<fs::path> shards = format.find_shards(path);
    if (!shards.empty()) return open_foreign(format, path, shards, progress);
  }
  refuse_unknown(path);
}

// What `opening` returns; its errors name the dataset, but for what the user's own function throws.
template <typename Opening>
Dataset opened(const fs::path& path, const OpenProgress& progress, const Opening& opening) {
  const auto passed_on = [](const auto& tell) {
    try {
      tell();
    } catch (...) {
      throw Stopped{std::current_exception()};
    }
  };
  const OpenProgress told(
      [&](std::uint64_t done, std::uint64_t total) { passed_on([&] { progress(done, total); }); },
      [&](const fs::path& lock, std::chrono::milliseconds waited) { passed_on([&] { progress.wait(lock, waited); }); });
  try {
    return opening(progress ? told : OpenProgress());
  } catch (const Stopped& stopped) {
    std::rethrow_exception(stopped.by);
  } catch (...) {
    throw handled_error({.dataset = path.string()});
  }
}

}  // namespace

Dataset open(const fs::path& path, const OpenProgress& progress) {
  if (const auto address = address_of(path)) {
    SeenPlaces seen;
    const SeenPlaces::Use use(&seen);
    return opened(*address, progress, [&](const OpenProgress& told) { return open_address(path, *address, told); });
  }
  return opened(path, progress, [&](const OpenProgress& told) { return open_any(path, told); });
}

Dataset open_shards(std::span<const fs::path> files, const fs::path& name, const OpenProgress& progress) {
  SeenPlaces seen;
  const SeenPlaces::Use use(&seen);
  return opened(name, progress, [&](const OpenProgress& told) {
    std::vector<fs::path> places;
    for (const fs::path& file : files) places.push_back(address_of(file).value_or(file));
    return open_files(places, name, told);
  });
}

}  // namespace penstock
