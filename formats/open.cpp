#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <penstock/base/error.hpp>
#include <penstock/base/handled_error.hpp>
#include <penstock/formats/folder/folder.hpp>
#include <penstock/formats/format.hpp>
#include <penstock/formats/hdf5/hdf5.hpp>
#include <penstock/formats/index/sidecar.hpp>
#include <penstock/formats/io/folder_entries.hpp>
#include <penstock/formats/io/path_pattern.hpp>
#include <penstock/formats/io/store_address.hpp>
#include <penstock/formats/lmdb/lmdb.hpp>
#include <penstock/formats/mds/mds.hpp>
#include <penstock/formats/megatron/megatron.hpp>
#include <penstock/formats/npy/npy.hpp>
#include <penstock/formats/packed/commit.hpp>
#include <penstock/formats/packed/journal.hpp>
#include <penstock/formats/packed/manifest.hpp>
#include <penstock/formats/packed/packed.hpp>
#include <penstock/formats/packed/parts.hpp>
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

std::string unfinished(const fs::path& partial) {
  std::error_code ignored;
  if (fs::exists(partial / kStageJournal, ignored))
    return partial.string() + " is a copy that is not complete: stage it again";
  return partial.string() + (holds_parts(partial)
                                 ? " holds the parts of an unfinished dataset: run pack --finish (ps.finish_pack)"
                                 : " is an unfinished dataset: run pack --resume (resume=True)");
}

void require_readable(const fs::path& path) {
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

// Class names and whatever else a foreign index knows stand in its attributes.
std::vector<std::string> classes_in(std::string_view attributes) {
  const nlohmann::json json = nlohmann::json::parse(attributes, nullptr, false);
  if (!json.is_object() || !json.contains("classes")) return {};
  try {
    return json.at("classes").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    throw Error::corrupt("broken index: class names");
  }
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

Dataset open_foreign(const Format& format, const fs::path& path, const std::vector<fs::path>& files,
                     const OpenProgress& progress) {
  std::vector<Dataset::Shard> shards;
  for (const fs::path& file : files) {
    const std::string name = name_of(file, path);
    try {
      ProvenIndex proven = sidecar_index(format, file, progress);
      auto pins = proven.pins(format, file);
      shards.push_back(
          {.index = std::move(proven.index), .root = root_of(file), .name = name, .pins = std::move(pins)});
    } catch (const Stopped&) {
      throw;
    } catch (...) {
      throw handled_error({.dataset = path.string(), .shard = file == path ? "" : name});
    }
  }
  std::string attributes(shards.front().index.attributes());
  std::vector<std::string> classes = classes_in(attributes);
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
  for (const fs::path& file : files) {
    require_readable(file);
    if (fs::exists(file / Manifest::kFileName))
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
  std::error_code failure;
  if (!fs::is_directory(path, failure)) {
    const bool perhaps_mixture = path.extension() == ".json";
    refuse(path,
           "is a file of no known kind (known: " + names + ")" +
               (perhaps_mixture ? "; the file of a mixture is what ps.mixture() takes, in C++ read_mixture(), and "
                                  "of the commands bench, tune and show"
                                : ""));
  }
  refuse(path, is_empty_folder(path) ? "is an empty folder" : "is a folder of no known kind (known: " + names + ")");
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

Dataset open_any(const fs::path& path, const OpenProgress& progress) {
  require_readable_place(path);
  std::error_code absent;
  if (is_pattern(path.native()) && !fs::exists(path, absent)) {
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
  return opened(path, progress, [&](const OpenProgress& told) { return open_any(path, told); });
}

Dataset open_shards(std::span<const fs::path> files, const fs::path& name, const OpenProgress& progress) {
  return opened(name, progress, [&](const OpenProgress& told) { return open_files(files, name, told); });
}

}  // namespace penstock
