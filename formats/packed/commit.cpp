#include <span>
#include <vector>

#include <formats/format.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/packed/combined_index.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/journal.hpp>
#include <formats/packed/parts.hpp>
#include <penstock/error.hpp>

namespace penstock {

namespace fs = std::filesystem;

void complete_folder(const fs::path& partial, const Manifest& manifest) {
  write_combined_index(partial, manifest);
  const Format* format = format_named(manifest.format);
  if (format == nullptr || format->complete == nullptr) return;
  std::vector<std::string> names;
  for (const ManifestShard& shard : manifest.shards) names.push_back(shard.name);
  format->complete(partial, names);
}

void commit_dataset(const fs::path& partial, const fs::path& destination, const std::string& manifest,
                    std::string_view marker) {
  complete_folder(partial, Manifest::from_json(manifest));
  write_atomically(partial / Manifest::kFileName, std::as_bytes(std::span(manifest.data(), manifest.size())));
  if (fs::exists(destination)) {
    // The exchange moves the old dataset to `partial`. With a marker it would look like an unfinished run there.
    for (const std::string_view name : {Journal::kFileName, kJoining}) fs::remove(destination / name);
    sync_folder(destination);
    remove_dataset(replace_folder(partial, destination));
  } else {
    rename_durably(partial, destination);
  }
  fs::remove(destination / marker);
  if (marker != Journal::kFileName) sync_folder(destination);  // beside penstock.json a journal has no meaning
}

void remove_dataset(const fs::path& folder) {
  if (fs::is_symlink(folder)) {
    fs::remove(folder);
    return;
  }
  require_ours(folder);
  std::vector<fs::path> rest;
  visit_names(folder, [&](const char* name) {
    if (name != Manifest::kFileName) rest.push_back(folder / name);
    return true;
  });
  for (const fs::path& path : rest) remove_tree(path);
  remove_tree(folder);
}

void require_absent(const fs::path& destination) {
  if (!fs::exists(fs::symlink_status(destination))) return;
  throw Error::invalid_argument("already exists; pass --overwrite (overwrite=True) to replace it",
                                {.dataset = destination.string()});
}

void require_ours(const fs::path& folder) {
  if (fs::is_directory(folder) && (is_empty_folder(folder) || fs::exists(folder / Manifest::kFileName))) return;
  throw Error::invalid_argument("only a packed dataset can be replaced, and this folder is not one: " +
                                folder.string());
}

fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

fs::path partial_path(const fs::path& destination) {
  return without_slash(destination).string() + ".partial";
}

}  // namespace penstock
