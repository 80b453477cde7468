#include <string>
#include <utility>
#include <vector>

#include <formats/extent.hpp>
#include <formats/folder/folder.hpp>
#include <formats/folder/folder_walk.hpp>
#include <formats/folder/sample_paths.hpp>
#include <formats/index/index.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/hash.hpp>
#include <formats/text/point_table.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

Index index_files(const fs::path& root, const OpenOptions& options, const OpenProgress& progress) {
  SamplePaths paths(options, root.string());
  std::vector<std::uint64_t> sizes;  // by the file's number
  std::string own_folder;
  walk_folder(root, {.file =
                         [&](std::string_view path, std::uint64_t size) {
                           paths.add_file(path, sizes.size());
                           sizes.push_back(size);
                           if (progress && sizes.size() % 4096 == 0) progress(sizes.size(), 0);
                         },
                     .folder = [&](std::string_view path) { paths.add_folder(path); },
                     .own_folder =
                         [&](std::string_view path) {
                           paths.leave_out(path);
                           if (own_folder.empty() || path < own_folder) own_folder = path;
                         }});
  if (paths.size() == 0) {
    if (own_folder.empty() && paths.left_out() != 0)
      throw Error::invalid_argument(paths.no_extensions() + ": " + root.string());
    const std::string packed = (root / own_folder).string();
    throw Error::invalid_argument(
        "the folder holds no file that can be a sample (hidden files and files without an "
        "extension do not count): " +
        root.string() + (own_folder.empty() ? "" : "; it holds a dataset that penstock packed: open " + packed));
  }
  IndexBuilder builder;
  const auto locate = [&](IndexBuilder& index, std::uint32_t field, std::string_view path, std::uint64_t number) {
    const std::uint32_t file = index.add_file({std::string(path), sizes[number], 0});
    index.set(field, Extent{.file = file, .offset = 0, .length = sizes[number]});
  };
  const auto may_be_cloud = [&](std::string_view path) {
    return can_be_points(root / path, Extent{.file = 0, .offset = 0, .length = ~std::uint64_t{0}});
  };
  std::move(paths).build(builder, SamplePaths::Order::by_key, locate, may_be_cloud);
  return std::move(builder).finish();
}

std::vector<fs::path> find_folder(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) return {};
  bool empty = true;
  visit_names(path, [&](const char* name) { return empty = *name == '.'; });
  return empty ? std::vector<fs::path>() : std::vector{path};
}

Index index_folder(const fs::path& shard, const fs::path&, const OpenProgress& progress) {
  return index_files(shard, {}, progress);
}

Index index_folder_with(const fs::path& shard, const fs::path&, const OpenOptions& options,
                        const OpenProgress& progress) {
  return index_files(shard, options, progress);
}

// Adds the hashes of files, so that the order of the listing does not matter.
void add_file(std::uint64_t& stamp, std::string_view path, std::uint64_t size) {
  stamp += mix64(hash64(path) ^ mix64(size + 1));
}

void add_folder(std::uint64_t& stamp, std::string_view path) {
  stamp += mix64(hash64(path));
}

std::uint64_t stamp_folder(const fs::path& shard) {
  std::uint64_t stamp = 0;
  walk_folder(shard, {.file = [&](std::string_view path, std::uint64_t size) { add_file(stamp, path, size); },
                      .folder = [&](std::string_view path) { add_folder(stamp, path); }});
  return stamp;
}

// A folder of files has no watched files: a walk of the folder finds as much as the index contains.
std::vector<fs::path> nothing_watched(const fs::path&) {
  return {};
}

}  // namespace

FolderLook look_at_folder(const fs::path& folder) {
  FolderLook look;
  walk_folder(folder,
              {.file = [&](std::string_view path, std::uint64_t size) { add_file(look.stamp, path, size); },
               .folder = [&](std::string_view path) { add_folder(look.stamp, path); },
               .identity = [&](std::string_view path, const FileIdentity& file) { look.pins.add(path, file); }});
  look.pins.sort();
  return look;
}

constinit const Format kFolder{
    .name = "folder",
    .extension = "",
    .find_shards = find_folder,
    .index = index_folder,
    .stamp = stamp_folder,
    .write = nullptr,
    .watched = nothing_watched,
    .reader = 3,  // 1: files that are not media do not remove labels; 2: tables may be text; 3: dots in names
    .depends = [](const OpenOptions& options) { return options.change_names(); },
    .index_with = index_folder_with,
    .loose = true,
    .folders = Format::Folders::classes};

}  // namespace penstock
