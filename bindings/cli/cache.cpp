#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <bench/measure/units.hpp>
#include <formats/places/address.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/disk_cache.hpp>
#include <storage/disk_cache/warm.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct CacheArguments {
  std::string dir = "auto";
  std::string limit = "0";
  std::vector<std::string> datasets = {};
};

// A folder that is not there is none that anybody uses: it is not made for looking at it.
std::shared_ptr<DiskCache> existing_cache(const CacheArguments& options) {
  const std::filesystem::path path = DiskCache::resolved(options.dir);
  std::error_code failed;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, failed))) {
    print("no cache at " + path.string() + "\n");
    return nullptr;
  }
  return DiskCache::open(path, 0);
}

int list(const CacheArguments& options) {
  const auto cache = existing_cache(options);
  if (cache == nullptr) return 0;
  std::string text;
  for (const CachedObjectInfo& object : cache->objects()) {
    text += bytes_text(object.kept) + " of " + bytes_text(object.size) + "\t" + object.address;
    if (object.wanted_by != 0) text += "\tread by " + std::to_string(object.wanted_by);
    text += "\n";
  }
  for (const CacheUser& user : cache->users())
    text += "process " + std::to_string(user.pid) + " reads " + std::to_string(user.objects) +
            (user.objects == 1 ? " object\n" : " objects\n");
  text += cache->path().string() + ": " + bytes_text(cache->used()) + " of " + bytes_text(cache->stats().limit) + "\n";
  print(text);
  return 0;
}

int clear(const CacheArguments& options) {
  const auto cache = existing_cache(options);
  if (cache == nullptr) return 0;
  print("removed " + bytes_text(cache->clear()) + " from " + cache->path().string() + "\n");
  return 0;
}

int fill(const CacheArguments& options) {
  const auto cache = DiskCache::open(options.dir, parse_size(options.limit, "--limit"));
  for (const std::string& address : options.datasets) {
    const Dataset dataset = open_with_progress(address);
    Warmed warmed;
    {
      Progress progress("warming", Progress::kBytes);
      warmed = warm(*cache, dataset, [&](std::uint64_t done, std::uint64_t total) { return progress(done, total); });
    }
    print(shown_place(address) + ": " + bytes_text(warmed.bytes) + " of " + bytes_text(warmed.total) + " in " +
          cache->path().string() + ", " + bytes_text(warmed.fetched) + " fetched\n");
    if (const std::string stopped = cache->stopped(); !stopped.empty())
      throw Error::resource("the cache in " + cache->path().string() + " stopped storing data: " + stopped);
  }
  return 0;
}

}  // namespace

Command cache_command(CLI::App& app) {
  const auto options = std::make_shared<CacheArguments>();
  CLI::App* command = app.add_subcommand("cache", "List, clear or warm the disk cache of datasets in stores");
  command->require_subcommand(1);
  const auto with_dir = [&](CLI::App* sub) {
    sub->add_option("--dir", options->dir, "Folder of the cache, as in the loaders' option disk_cache")
        ->capture_default_str();
    return sub;
  };
  CLI::App* ls = with_dir(command->add_subcommand("ls", "List the cached objects, their readers and their sizes"));
  CLI::App* empty = with_dir(command->add_subcommand(
      "clear", "Remove all cached data; loaders that use the cache fetch again what they need"));
  CLI::App* warming = with_dir(command->add_subcommand(
      "warm", "Fetch datasets from their stores in the order of their files, while the cache has room"));
  warming
      ->add_option("--limit", options->limit,
                   "Limit of the folder in bytes (200GiB); 0: the limit that it was created with")
      ->capture_default_str();
  warming->add_option("ADDRESS", options->datasets, "Datasets in stores")->required();
  command->footer(
      "Examples:\n  penstock cache ls\n  penstock cache warm s3://bucket/train --dir /local/cache --limit 200GiB\n"
      "  penstock cache clear --dir /local/cache");
  return {command, [options, ls, empty] {
            if (ls->parsed()) return list(*options);
            if (empty->parsed()) return clear(*options);
            return fill(*options);
          }};
}

}  // namespace penstock::cli
