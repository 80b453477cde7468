#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/folder/folder_names.hpp>
#include <formats/folder/sample_paths.hpp>
#include <formats/folder/splits.hpp>
#include <formats/index/index.hpp>
#include <formats/index/indexed_path.hpp>
#include <formats/index/probe_stamp.hpp>
#include <formats/places/places.hpp>
#include <formats/zip/entries.hpp>
#include <formats/zip/writer.hpp>
#include <formats/zip/zip.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

void place(IndexBuilder& builder, std::uint32_t field, const ZipEntry& entry) {
  if (is_stored(entry)) return builder.set(field, Extent{.file = 0, .offset = entry.data, .length = entry.stored});
  if (entry.plain == 0) return builder.set(field, std::span<const Piece>());
  const Piece piece{.kind = Piece::Kind::block,
                    .block = builder.add_block(block_of(entry, 0)),
                    .length = entry.plain,
                    .inline_bytes = {}};
  builder.set(field, std::span(&piece, 1));
}

// Returns "train/" if `split` is a folder of that name. Empty without a split.
std::string folder_of_split(const std::vector<ZipEntry>& entries, const std::string& split) {
  if (split.empty()) return {};
  std::set<std::string> folders;
  for (const ZipEntry& entry : entries) {
    const std::size_t slash = entry.name.find('/');
    if (slash != std::string::npos || entry.is_folder) folders.insert(entry.name.substr(0, slash));
  }
  return split_among({folders.begin(), folders.end()}, split) + "/";
}

Index index_zip_with(const fs::path& shard, const fs::path& root, const OpenOptions& options,
                     const OpenProgress& progress) {
  HeaderWindow file(shard, indexed_path(shard, root));
  const std::vector<ZipEntry> entries = read_zip_entries(file);
  const std::string folder = folder_of_split(entries, options.split);
  SamplePaths paths(options, shard.string());
  for (std::uint64_t i = 0; i < entries.size(); ++i) {
    std::string_view name = entries[i].name;
    if (!name.starts_with(folder)) continue;
    name.remove_prefix(folder.size());
    entries[i].is_folder ? paths.add_folder(name) : paths.add_file(name, i);
  }
  if (paths.size() == 0 && paths.left_out() != 0)
    throw Error::invalid_argument(paths.no_extensions(), {.shard = file.shard()});
  IndexBuilder builder;
  builder.add_file({.path = file.shard(), .size = file.size(), .stamp = zip_stamp(file)});
  if (paths.size() == 0) return std::move(builder).finish();
  try {
    std::move(paths).build(builder, SamplePaths::Order::by_number,
                           [&](IndexBuilder& index, std::uint32_t field, std::string_view, std::uint64_t number) {
                             place(index, field, entries[number]);
                           });
  } catch (const Error& error) {
    throw error.in({.shard = file.shard()});
  }
  if (progress) progress(file.size(), file.size());
  return std::move(builder).finish();
}

Index index_zip(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  return index_zip_with(shard, root, {}, progress);
}

bool is_zip_file(const fs::path& path) {
  if (path.extension() == ".zip") return true;
  HeaderWindow file(path, path.filename().string());
  if (file.size() < 4) return false;
  const std::string_view first = text_of(file.read(0, 4, 4));  // an archive without entries begins with its end record
  return (first == "PK\3\4" || first == "PK\5\6") && ends_as_zip(path);
}

std::vector<fs::path> find_zip_shards(const fs::path& path) {
  if (is_file(path)) return is_zip_file(path) ? std::vector{path} : std::vector<fs::path>();
  std::vector<fs::path> shards;
  if (!is_folder(path)) return shards;
  bool is_folder_of_files = false;
  visit_place(path, [&](const char* name) {
    if (*name == '.') return true;
    fs::path shard = path / name;
    is_folder_of_files = is_folder(shard) || is_media(split_file_name(name).extension);
    if (shard.extension() == ".zip" && is_file(shard)) shards.push_back(std::move(shard));
    return !is_folder_of_files;
  });
  if (is_folder_of_files) return {};
  std::sort(shards.begin(), shards.end());
  return shards;
}

}  // namespace

constinit const Format kZip{.name = "zip",
                            .extension = ".zip",
                            .find_shards = find_zip_shards,
                            .index = index_zip,
                            .stamp = probe_stamp,
                            .write = write_zip,
                            .longest_name = 65535,
                            .room = zip_room,
                            .proves = zip_proves,
                            .reader = 2,  // 1: dots in names, names of splits; 2: backslashes
                            .depends = [](const OpenOptions& options) { return options.change_names(); },
                            .index_with = index_zip_with,
                            .folders = Format::Folders::classes,
                            .content = "files"};

}  // namespace penstock
