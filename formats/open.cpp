#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <base/handled_error.hpp>
#include <base/parallel_for.hpp>
#include <base/printable.hpp>
#include <base/shown_path.hpp>
#include <formats/cifar/cifar.hpp>
#include <formats/dataset.hpp>
#include <formats/folder/archives.hpp>
#include <formats/folder/folder.hpp>
#include <formats/folder/loose_samples.hpp>
#include <formats/folder/splits.hpp>
#include <formats/format.hpp>
#include <formats/hdf5/hdf5.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/own_files.hpp>
#include <formats/io/path_pattern.hpp>
#include <formats/labels/shared_classes.hpp>
#include <formats/lmdb/lmdb.hpp>
#include <formats/mds/mds.hpp>
#include <formats/megatron/megatron.hpp>
#include <formats/npy/npy.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/dataset_upload.hpp>
#include <formats/packed/journal.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/packed.hpp>
#include <formats/packed/parts.hpp>
#include <formats/packed/stored_dataset.hpp>
#include <formats/places/places.hpp>
#include <formats/places/seen_places.hpp>
#include <formats/sidecar/sidecar.hpp>
#include <formats/sidecar/stored_index.hpp>
#include <formats/table/table_format.hpp>
#include <formats/tar/tar.hpp>
#include <formats/tfrecord/tfrecord.hpp>
#include <formats/zip/zip.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// The formats, in the order in which open() tries them. The folder of files comes last, because it accepts any file in
// a folder.
const std::array kFormats{&kTar,      &kLmdb,  &kHdf5, &kMds,   &kTfrecord, &kNpy,
                          &kMegatron, &kCifar, &kZip,  &kTable, &kFolder};

[[noreturn]] void refuse(const fs::path& path, std::string why) {
  throw Error::invalid_argument(std::move(why), {.dataset = path.string()});
}

constexpr const char* kUnfinished = "is an unfinished dataset: run pack --resume (resume=True)";
constexpr const char* kIncompleteCopy = "is an incomplete copy: stage it again";

std::string unfinished(const fs::path& partial) {
  std::error_code ignored;
  if (fs::exists(partial / kStageJournal, ignored)) return partial.string() + " " + kIncompleteCopy;
  return partial.string() + " " +
         (holds_parts(partial) ? "holds the parts of an unfinished dataset: run pack-join (ps.finish_pack)"
                               : kUnfinished);
}

// Returns `path`, or the index of the Megatron-LM dataset that it names if nothing is there.
fs::path readable(const fs::path& path) {
  if (is_address(path)) {
    if (!is_file(path) && !is_folder(path)) throw Error::io(ENOENT, "cannot open", {.dataset = path.string()});
    return path;
  }
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (status.type() == fs::file_type::not_found) {
    if (const fs::path idx = index_of_prefix(path); !idx.empty()) return readable(idx);
    const fs::path partial = path.string() + ".partial";
    if (fs::exists(partial, failure)) refuse(path, "does not exist, but " + unfinished(partial));
    if (path.string().starts_with('~'))
      refuse(path, "does not exist: only shells expand ~, so pass the full path (os.path.expanduser in Python)");
    throw Error::io(ENOENT, "cannot open", {.dataset = path.string()});
  }
  if (failure) throw Error::io(failure.value(), "cannot open", {.dataset = path.string()});
  const int needed = fs::is_directory(status) ? R_OK | X_OK : R_OK;
  if (::faccessat(AT_FDCWD, path.c_str(), needed, AT_EACCESS) != 0)
    throw Error::io(errno, "cannot read", {.dataset = path.string()});
  if (!fs::is_directory(status) && !fs::is_regular_file(status)) refuse(path, "is neither a file nor a folder");
  return path;
}

bool is_zip(const fs::path& path) {
  return path.extension() == kZip.extension;
}

bool is_own(const fs::path& path) {
  return is_own_file(path.filename().native());
}

std::string names_of_formats() {
  return joined_text(formats(), ", ", &Format::name);
}

// Returns the Python source that reads rows of such a file. Empty for other files.
std::string_view source_of_tables(const fs::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".parquet") return "ps.sources.parquet(path)";
  if (extension == ".arrow") return "ps.sources.huggingface(path)";
  return {};
}

[[noreturn]] void refuse_split(const fs::path& path) {
  refuse(path,
         "has no split folders: split= requires a folder or a ZIP archive that contains folders such as train and val");
}

// Wraps an exception of the user's own function on its way through open(). open() must not change such an exception.
struct Stopped {
  std::exception_ptr by;
};

std::shared_ptr<const OpenOptions> kept(const OpenOptions& options) {
  return options == OpenOptions() ? nullptr : std::make_shared<const OpenOptions>(options);
}

Dataset::Shard shard_of_store(const Format& format, const fs::path& file, std::string name, const OpenOptions& options,
                              const OpenProgress& progress) {
  if (!format.in_stores) {
    throw Error::unsupported(std::string(format.name) +
                             " files of other tools are read from disks only: copy this file to a disk with the "
                             "store's tool; penstock pack makes it readable from stores");
  }
  StoredIndex stored = stored_index(format, file, options, progress);
  SeenPlaces::current()->forget_source(file.native());
  for (const auto& object : stored.objects) SeenPlaces::current()->forget_source(object->address);
  auto pins = pins_of(stored.objects);
  return {.index = std::move(stored.index),
          .root = root_of(file),
          .name = std::move(name),
          .pins = std::move(pins),
          .objects = std::move(stored.objects)};
}

Dataset::Shard open_shard(const Format& format, const fs::path& path, const fs::path& file, const OpenOptions& options,
                          const OpenProgress& progress) {
  std::string name = shown_path(file, path);
  try {
    if (is_address(file)) return shard_of_store(format, file, name, options, progress);
    const bool usual = format.depends == nullptr || !format.depends(options);
    ProvenIndex proven =
        usual ? sidecar_index(format, file, progress) : index_with_options(format, file, options, progress);
    auto pins = proven.pins(format, file, options);
    return {.index = std::move(proven.index), .root = root_of(file), .name = name, .pins = std::move(pins)};
  } catch (const Stopped&) {
    throw;
  } catch (...) {
    throw handled_error({.dataset = path.string(), .shard = file == path ? "" : name});
  }
}

// A store answers this many requests as fast as one.
constexpr unsigned kShardsAtOnce = 16;

std::vector<Dataset::Shard> open_stored_shards(const Format& format, const fs::path& path,
                                               const std::vector<fs::path>& files, const OpenOptions& options,
                                               const OpenProgress& progress) {
  std::vector<std::optional<Dataset::Shard>> opened(files.size());
  SeenPlaces* const seen = SeenPlaces::current();
  parallel_for(
      files.size(), std::min<unsigned>(kShardsAtOnce, static_cast<unsigned>(files.size())),
      [&](std::uint64_t i) {
        const SeenPlaces::Use use(seen);
        opened[i] = open_shard(format, path, files[i], options, {});
      },
      [&](std::uint64_t done, std::uint64_t count) {
        if (progress) progress(done, count);
        return true;
      });
  std::vector<Dataset::Shard> shards;
  for (auto& shard : opened) shards.push_back(std::move(*shard));
  return shards;
}

// `asked` are the options that open `path` again. `options` are those for its files.
Dataset open_foreign(const Format& format, const fs::path& path, const std::vector<fs::path>& files,
                     const OpenOptions& options, const OpenProgress& progress, const OpenOptions& asked) {
  if (!options.rows.empty() && !format.columns) refuse(path, "has no columns: rows= requires HDF5 or NPZ files");
  std::vector<Dataset::Shard> shards;
  if (files.size() > 1 && std::ranges::all_of(files, is_address)) {
    expect_places(files);
    shards = open_stored_shards(format, path, files, options, progress);
  } else {
    for (const fs::path& file : files) shards.push_back(open_shard(format, path, file, options, progress));
  }
  for (Dataset::Shard& shard : shards) shard.options = kept(asked);
  std::string attributes(shards.front().index.attributes());
  std::vector<std::string> classes = share_classes(shards, options.classes);
  return Dataset(path, std::string(format.name), std::move(shards), std::move(classes), false, std::move(attributes));
}

Dataset open_foreign(const Format& format, const fs::path& path, const std::vector<fs::path>& files,
                     const OpenOptions& options, const OpenProgress& progress) {
  return open_foreign(format, path, files, options, progress, options);
}

struct Found {
  const Format* format;
  std::vector<fs::path> shards;
};

// Returns the format that the options name. Null if they name none.
const Format* format_of(const OpenOptions& options, const fs::path& path) {
  if (options.format.empty()) return nullptr;
  const Format* format = format_named(options.format);
  if (format == nullptr)
    refuse(path, "unknown format " + double_quoted(options.format) + "; expected one of " + names_of_formats());
  return format;
}

// The shards that each format finds at `path`, in the order of the list, except folders of files.
std::vector<Found> shards_at(const fs::path& path, const Format* only = nullptr) {
  std::vector<Found> found;
  for (const Format& format : formats()) {
    if (format.loose || (only != nullptr && only->name != format.name)) continue;
    std::vector<fs::path> shards = format.find_shards(path);
    if (!shards.empty()) found.push_back({&format, std::move(shards)});
    // Only one format can match a file, or an address that cannot be listed. So the first match ends the search.
    if (!found.empty() && (lists_nothing(path) || !is_folder(path))) break;
  }
  return found;
}

// Refuses a folder in which several formats find shards.
std::optional<Found> shards_of_one_format(const fs::path& path, const Format* only = nullptr) {
  std::vector<Found> found = shards_at(path, only);
  if (found.empty()) return std::nullopt;
  if (found.size() > 1) {
    const auto one = [&](std::size_t i) { return double_quoted(shown_path(found[i].shards.front(), path)); };
    const auto option = [&](std::size_t i) { return "format=" + double_quoted(found[i].format->name); };
    refuse(path, "holds shards of two formats, " + one(0) + " and " + one(1) + ": open it with " + option(0) + " or " +
                     option(1) + " (the command: --source-format)");
  }
  return std::move(found.front());
}

// Finds the shards at `path` by `format`. If `format` is null, finds the format first and sets it.
std::vector<fs::path> find_by(const Format*& format, const fs::path& path) {
  if (format != nullptr) return format->find_shards(path);
  std::optional<Found> found = shards_of_one_format(path);
  if (!found) return {};
  format = found->format;
  return std::move(found->shards);
}

// All files of a pattern are shards of one format.
Dataset open_files(std::span<const fs::path> files, const fs::path& pattern, const OpenOptions& options,
                   const OpenProgress& progress) {
  if (files.empty()) refuse(pattern, "matches no file");
  std::vector<fs::path> shards;
  const Format* found = format_of(options, pattern);
  if (found != nullptr && found->loose) refuse(pattern, "is a pattern of shards, which cannot have format \"folder\"");
  if (!options.split.empty() && !is_zip(files.front())) refuse_split(pattern);
  expect_places(files);
  for (const fs::path& named : files) {
    const fs::path file = readable(named);
    if (is_address(file) && !shards.empty() && is_file(file) && file.extension() == shards.front().extension()) {
      shards.push_back(file);  // indexing reads its first bytes later
      continue;
    }
    if (is_address(file) ? is_folder(file) && is_file(file / Manifest::kFileName)
                         : fs::exists(file / Manifest::kFileName))
      refuse(pattern, "matches " + file.string() + ", which penstock packed: open it separately");
    const std::vector<fs::path> own = find_by(found, file);
    if (own.empty()) {
      refuse(pattern,
             "matches " + file.string() + ", which is not a " +
                 (found == nullptr ? "file of a known format" : "shard of format " + std::string(found->name)));
    }
    shards.insert(shards.end(), own.begin(), own.end());
  }
  return open_foreign(*found, pattern, shards, options, progress);
}

[[noreturn]] void refuse_unknown(const fs::path& path) {
  const std::string names = names_of_formats();
  if (!is_folder(path)) {
    if (const std::string_view source = source_of_tables(path); !source.empty())
      refuse(path, "is a table: " + std::string(source) + " reads its rows, for ps.pack() and penstock pack");
    if (path.extension() == ".bin") {
      refuse(path, "is not a file of a known format (known: " + names +
                       "); if it holds tokens of Megatron-LM, put its index " +
                       double_quoted(fs::path(path).replace_extension(".idx").filename().string()) + " beside it");
    }
    refuse(path, "is not a file of a known format (known: " + names + ")");
  }
  refuse(path, !is_address(path) && is_empty_folder(path) ? "is an empty folder"
                                                          : "is not a folder of a known format (known: " + names + ")");
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

const Format& format_of(const Dataset& dataset) {
  static constexpr Format kSeveral{
      .name = {}, .extension = {}, .find_shards = nullptr, .index = nullptr, .stamp = nullptr, .write = nullptr};
  const Format* format = format_named(dataset.format());
  return format != nullptr ? *format : kSeveral;
}

namespace {

// A store with read but without list permission is treated like a web server.
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

// The shards of an unfinished upload are not a dataset yet.
void require_finished(const fs::path& address) {
  if (lists_nothing(address) || !is_folder(address)) return;
  if (is_file(address / DatasetUpload::kJournal)) refuse(address, kUnfinished);
  if (is_file(address / kStoreStageJournal)) refuse(address, kIncompleteCopy);
}

// Sub-folders that may contain data, in order.
std::vector<std::string> folders_in(const fs::path& place) {
  std::vector<std::string> names;
  visit_place(place, [&](const char* name) {
    const fs::path inside = place / name;
    if (*name == '.' || !is_folder(inside)) return true;
    if (is_split_name(name) || is_address(place) || !is_own_folder(AT_FDCWD, inside.c_str())) names.emplace_back(name);
    return true;
  });
  std::ranges::sort(names);
  return names;
}

// The places of a split: its folder, or the shards whose names contain its name.
struct SplitPlaces {
  const Format* format = nullptr;  // format of the shards
  std::vector<fs::path> places;
};

std::map<std::string, SplitPlaces> places_of_splits(const fs::path& place, const Format* only) {
  std::map<std::string, SplitPlaces> splits;
  for (const std::string& name : folders_in(place)) splits[name].places.push_back(place / name);
  for (const Found& found : shards_at(place, only)) {
    for (const fs::path& shard : found.shards) {
      const std::string name = split_in_name(shard.filename().string());
      if (name.empty()) continue;
      SplitPlaces& split = splits[name];
      if (!split.places.empty() && split.format != found.format)
        refuse(place, "holds the split " + double_quoted(name) + " as " +
                          double_quoted(shown_path(split.places[0], place)) + " and as " +
                          double_quoted(shown_path(shard, place)) + ": open one of them");
      split.format = found.format;
      split.places.push_back(shard);
    }
  }
  return splits;
}

// Returns the split that the options name. Returns nothing for a ZIP archive, which looks among its entries.
std::optional<SplitPlaces> find_split(const fs::path& place, const OpenOptions& options) {
  if (options.split.empty() || (is_zip(place) && is_file(place))) return std::nullopt;
  if (lists_nothing(place)) return SplitPlaces{.places = {place / options.split}};
  if (!is_folder(place)) refuse_split(place);
  std::map<std::string, SplitPlaces> splits = places_of_splits(place, format_of(options, place));
  std::vector<std::string> names;
  for (const auto& [name, ignored] : splits) names.push_back(name);
  return std::move(splits.at(split_among(names, options.split)));
}

OpenOptions without_split(OpenOptions options) {
  options.split.clear();
  return options;
}

void refuse_splits(const fs::path& place, const OpenOptions& options) {
  if (!options.split_names) return;
  bool any = false;  // folders may hold millions of files: examines them only if some name is the name of a split
  visit_place(place, [&](const char* name) { return !(any = any || is_split_name(name)); });
  if (!any) return;
  const std::vector<std::string> names = folders_in(place);
  if (are_split_names(names)) throw Error::invalid_argument(splits_refusal(place.string(), names));
}

// Refuses shards of several splits, such as train and test, in one folder.
void refuse_shards_of_splits(const fs::path& place, const Found& found, const OpenOptions& options) {
  if (!options.split_names) return;
  std::vector<std::string> names;
  for (const fs::path& shard : found.shards) names.push_back(split_in_name(shard.filename().string()));
  if (are_several_splits(names)) throw Error::invalid_argument(splits_refusal(place.string(), names));
}

void require_format(const Dataset& dataset, const OpenOptions& options) {
  if (!options.format.empty() && options.format != dataset.format())
    refuse(dataset.path(), "is a dataset that penstock packed as " + std::string(dataset.format()) + ", not as " +
                               double_quoted(options.format));
  if (!options.split.empty()) refuse_split(dataset.path());
  if (!options.classes.empty() && !std::ranges::equal(options.classes, dataset.classes()))
    refuse(dataset.path(),
           "was packed with classes other than those of the option classes: pack --classes renumbers them");
}

// `given` is the user's text. `address` is the form of it that messages may show.
Dataset open_address(const fs::path& given, const fs::path& address, const OpenOptions& options,
                     const OpenProgress& progress) {
  if (is_pattern_of_places(address)) {
    std::vector<fs::path> files = expand_places(given);
    std::erase_if(files, is_own);
    return open_files(files, address, options, progress);
  }
  const bool manifest = address.filename() == Manifest::kFileName;
  if (manifest || is_packed_in_store(address)) {
    Dataset dataset = open_stored_dataset(manifest ? address.parent_path() : address);
    require_format(dataset, options);
    return dataset;
  }
  if (const auto split = find_split(address, options)) {
    const fs::path& first = split->places.front();
    if (split->places.size() == 1) return open_address(first, first, without_split(options), progress);
    return open_foreign(*split->format, address, split->places, without_split(options), progress, options);
  }
  require_finished(address);
  if (const auto found = shards_of_one_format(address, format_of(options, address))) {
    refuse_shards_of_splits(address, *found, options);
    return open_foreign(*found->format, address, found->shards, options, progress);
  }
  readable(address);
  if (!is_folder(address)) {
    if (lists_nothing(address) && !address.has_extension())
      refuse(address,
             "contains no dataset that penstock packed, and web servers cannot list files: name the shards of other "
             "datasets (shard-{000..009}.tar)");
    refuse_unknown(address);
  }
  if (!lists_nothing(address)) refuse_splits(address, options);
  refuse(address,
         "contains no shards of a known format: loose files cannot be read from stores, so pack them (penstock pack "
         "SOURCE DESTINATION), or copy them to a disk");
}

// If there are samples beside shards, the user must choose: neither is left out silently.
void require_no_samples_beside(const fs::path& path, const Found& found) {
  if (!is_folder(path)) return;
  const std::vector<std::string> loose = loose_samples(path, found.shards);
  if (loose.empty()) return;
  const std::string format(found.format->name);
  const fs::path& shard = found.shards.front();
  refuse(path, "holds " + format + " shards (" + double_quoted(shown_path(shard, path)) +
                   ") and files that may be samples (" + double_quoted(loose.front()) + ", " +
                   double_quoted(loose.back()) + "): open it with format=" + double_quoted(format) +
                   " or format=\"folder\" (the command: " + "--source-format), or move one of them");
}

// Refuses a folder of archives, where each archive would become a value of one sample.
void refuse_archives(const fs::path& path) {
  const std::optional<fs::path> archive = archive_without_media(path);
  if (!archive) return;
  if (const std::string_view source = source_of_tables(*archive); !source.empty())
    refuse(path,
           "holds tables (" + archive->string() + "): " + std::string(source) +
               " reads their rows, for ps.pack() and penstock pack; format=\"folder\" reads each file as a value");
  const bool in_folder = archive->filename() == "data.mdb" || archive->extension() == ".mds";
  const fs::path shard = in_folder ? archive->parent_path() : *archive;
  fs::path pattern = path;
  for (fs::path above = shard.parent_path(); !above.empty(); above = above.parent_path()) pattern /= "*";
  pattern /= "*" + shard.extension().string();
  refuse(path, "holds archives (" + archive->string() +
                   "), each of which would be one value: to read their samples open " +
                   double_quoted(pattern.string()) + ", or one of the folders; format=\"folder\" (the command: " +
                   "--source-format folder) reads each file as a value");
}

Dataset open_folder_of_files(const fs::path& path, const OpenOptions& options, const OpenProgress& progress) {
  const Format& format = *format_named(kFolder.name);
  const std::vector<fs::path> folder = format.find_shards(path);
  if (folder.empty()) refuse_unknown(path);
  refuse_splits(path, options);
  if (options.format.empty()) refuse_archives(path);
  return open_foreign(format, path, folder, options, progress);
}

Dataset open_any(const fs::path& named, const OpenOptions& options, const OpenProgress& progress) {
  if (is_pattern_of_places(named)) {
    std::vector<fs::path> files = expand_pattern(named.native());
    std::erase_if(files, is_own);
    return open_files(files, named, options, progress);
  }
  const fs::path given = readable(named);
  const bool manifest = given.filename() == Manifest::kFileName;
  if (!manifest && is_unfinished(given)) refuse(given, unfinished(given));
  std::error_code ignored;
  if (manifest || fs::exists(given / Manifest::kFileName, ignored)) {
    Dataset dataset = open_packed(manifest ? root_of(given) : given);
    require_format(dataset, options);
    return dataset;
  }
  if (const auto split = find_split(given, options)) {
    if (split->places.size() == 1) return open_any(split->places.front(), without_split(options), progress);
    return open_foreign(*split->format, given, split->places, without_split(options), progress, options);
  }
  const Format* const only = format_of(options, given);
  const bool folder = only != nullptr && only->loose;
  const std::optional<Found> found = folder ? std::nullopt : shards_of_one_format(given, only);
  if (found) {
    if (only == nullptr) require_no_samples_beside(given, *found);
    refuse_shards_of_splits(given, *found, options);
    return open_foreign(*found->format, given, found->shards, options, progress);
  }
  if (only != nullptr && !folder) refuse(given, "holds no " + std::string(only->name) + " shards");
  return open_folder_of_files(given, options, progress);
}

// Returns the result of `opening`. Adds the dataset's name to its errors, except to exceptions of the user's own
// function.
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

Dataset open(const fs::path& path, const OpenOptions& options, const OpenProgress& progress) {
  check_options(options);
  if (const auto address = address_of(path)) {
    SeenPlaces seen;
    const SeenPlaces::Use use(&seen);
    return opened(*address, progress,
                  [&](const OpenProgress& told) { return open_address(path, *address, options, told); });
  }
  return opened(path, progress, [&](const OpenProgress& told) { return open_any(path, options, told); });
}

Dataset open(const fs::path& path, const OpenProgress& progress) {
  return open(path, OpenOptions(), progress);
}

Dataset open_shards(std::span<const fs::path> files, const fs::path& name, const OpenOptions& options,
                    const OpenProgress& progress) {
  check_options(options);
  SeenPlaces seen;
  const SeenPlaces::Use use(&seen);
  return opened(name, progress, [&](const OpenProgress& told) {
    std::vector<fs::path> places;
    for (const fs::path& file : files) places.push_back(address_of(file).value_or(file));
    return open_files(places, name, options, told);
  });
}

Dataset open_shards(std::span<const fs::path> files, const fs::path& name, const OpenProgress& progress) {
  return open_shards(files, name, OpenOptions(), progress);
}

const OpenOptions& options_of(const Dataset::Shard& shard) {
  static const OpenOptions usual;
  return shard.options == nullptr ? usual : *shard.options;
}

}  // namespace penstock
