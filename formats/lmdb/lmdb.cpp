#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <base/printable.hpp>
#include <formats/index/indexed_path.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/lmdb/listing.hpp>
#include <formats/lmdb/lmdb.hpp>
#include <formats/lmdb/metadata.hpp>
#include <formats/lmdb/pages.hpp>
#include <formats/lmdb/records.hpp>
#include <formats/lmdb/values.hpp>
#include <formats/lmdb/writer.hpp>
#include <formats/places/places.hpp>
#include <penstock/base/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDataFile = "data.mdb";
constexpr std::string_view kWholeValue = "value";
constexpr std::string_view kSampleCount = "num-samples";
constexpr std::size_t kMostDatabases = 256;

bool begins_like_lmdb(const fs::path& file) {
  if (!is_file(file)) return false;
  const std::vector<std::byte> head = first_bytes(file, LmdbPages::kHeadBytes);
  return head.size() == LmdbPages::kHeadBytes && LmdbPages::begins_like_one(head);
}

fs::path data_file(const fs::path& shard) {
  return is_folder(shard) ? shard / kDataFile : shard;
}

std::vector<fs::path> find_lmdb(const fs::path& path) {
  if (begins_like_lmdb(data_file(path))) return {path};
  std::vector<fs::path> shards;
  if (!is_folder(path)) return shards;
  visit_place(path, [&](const char* name) {
    fs::path shard = path / name;
    if (shard.extension() == kLmdb.extension && begins_like_lmdb(data_file(shard))) shards.push_back(std::move(shard));
    return true;
  });
  std::sort(shards.begin(), shards.end());
  return shards;
}

// Everything in the file that may be a sample: the values of the named databases, where they hold more than the main
// one, else of the main one.
struct Contents {
  LmdbListing listing;
  std::vector<std::string> databases;  ///< that the values come from; empty: the main one
  bool numbered = false;               ///< the file counts its samples under the name "num-samples"
  std::uint64_t left_out_databases = 0, left_out_values = 0;
};

struct NamedDatabase {
  std::string name;
  LmdbDatabase tree;
};

void list_named(const LmdbPages& pages, std::vector<NamedDatabase>& named, Contents& contents,
                const OpenProgress& progress) {
  contents.left_out_values = contents.listing.values().size();
  contents.listing = {};
  for (const NamedDatabase& database : named) {
    const auto number = static_cast<std::uint16_t>(contents.databases.size());
    pages.walk(
        database.tree,
        [&](const LmdbEntry& entry) { contents.listing.add(entry, number, database.tree.integer_names()); }, progress);
    contents.databases.push_back(is_printable(database.name) ? database.name : hexadecimal(database.name));
  }
}

Contents list(const LmdbPages& pages, const fs::path& shard, const OpenProgress& progress) {
  Contents contents;
  std::vector<NamedDatabase> named;
  std::uint64_t in_named = 0;
  const LmdbDatabase& main = pages.meta().main;
  pages.walk(
      main,
      [&](const LmdbEntry& entry) {
        if (!entry.database) {
          contents.numbered = contents.numbered || entry.name == kSampleCount;
          contents.listing.add(entry, 0, main.integer_names());
          return;
        }
        if (named.size() == kMostDatabases) {
          throw Error::unsupported("LMDB of more than " + std::to_string(kMostDatabases) + " named databases",
                                   {.shard = shard.string()});
        }
        named.push_back({std::string(entry.name), *entry.database});
        in_named += entry.database->entries;
      },
      progress);
  if (in_named > contents.listing.values().size()) {
    list_named(pages, named, contents, progress);
  } else {
    contents.left_out_databases = named.size();
  }
  contents.left_out_values += contents.listing.drop_descriptions();
  return contents;
}

// By key alone: as names, "a-b.jpg" stands between "a.cls" and "a.jpg"'s neighbours, for '-' comes before '.'.
std::vector<LmdbListing::Value> by_key(const LmdbListing& listing, const LmdbNaming& naming) {
  std::vector<LmdbListing::Value> values(listing.values().begin(), listing.values().end());
  std::ranges::stable_sort(values, {}, [&](const LmdbListing::Value& value) { return naming.of(value).key; });
  return values;
}

void build_plain(IndexBuilder& builder, std::uint32_t file, const Contents& contents) {
  const LmdbNaming naming(contents.listing, contents.databases, contents.numbered);
  // In order of their names, whatever order the samples have them in.
  std::map<std::string, std::uint32_t, std::less<>> fields;
  for (const LmdbListing::Value& value : contents.listing.values()) {
    const std::string_view extension = naming.of(value).extension;
    if (fields.find(extension) == fields.end()) fields.emplace(extension, 0);
  }
  for (auto& [extension, number] : fields) {
    number = builder.field(extension.empty() ? FieldSchema{.name = std::string(kWholeValue), .codec = ""}
                                             : field_from_extension(extension));
  }
  std::optional<std::string_view> key;
  for (const LmdbListing::Value& value : by_key(contents.listing, naming)) {
    const LmdbName name = naming.of(value);
    if (key != name.key) builder.add_sample(name.key);
    key = name.key;
    builder.set(fields.find(name.extension)->second, Extent{file, value.offset, value.size});
  }
}

std::string attributes_of(const Contents& contents, const LmdbMetadata& metadata, std::uint64_t members) {
  nlohmann::ordered_json attributes = nlohmann::ordered_json::object();
  if (!metadata.left_out.empty()) attributes["left_out"] = metadata.left_out;
  if (contents.left_out_databases != 0) attributes["left_out_databases"] = contents.left_out_databases;
  if (contents.left_out_values != 0) attributes["left_out_values"] = contents.left_out_values;
  if (members != 0) attributes["left_out_members"] = members;
  return attributes.dump();
}

Index index_lmdb(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  const LmdbPages pages(data_file(shard));
  Contents contents = list(pages, shard, progress);
  const LmdbMetadata metadata =
      contents.databases.empty() ? drop_metadata(contents.listing, data_file(shard)) : LmdbMetadata();
  contents.numbered = contents.numbered || metadata.counts_samples;
  IndexBuilder builder;
  const std::uint32_t file = builder.add_file({indexed_path(data_file(shard), root), pages.file_size(), pages.stamp()});
  std::uint64_t members = 0;
  try {
    LmdbRecords records(data_file(shard));
    const auto kind =
        contents.databases.empty() ? records.recognise(contents.listing.values()) : LmdbRecords::Kind::none;
    if (kind == LmdbRecords::Kind::none) build_plain(builder, file, contents);
    if (kind != LmdbRecords::Kind::none) members = index_records(builder, file, contents.listing, records, kind);
  } catch (const Error& error) {
    throw error.in({.shard = shard.string()});
  }
  pages.require_unchanged();
  builder.set_attributes(attributes_of(contents, metadata, members));
  return std::move(builder).finish();
}

std::uint64_t stamp_lmdb(const fs::path& shard) {
  return LmdbPages(data_file(shard)).stamp();
}

std::vector<fs::path> watched_lmdb(const fs::path& shard) {
  return {data_file(shard)};
}

}  // namespace

constinit const Format kLmdb{.name = "lmdb",
                             .extension = ".lmdb",
                             .find_shards = find_lmdb,
                             .index = index_lmdb,
                             .stamp = stamp_lmdb,
                             .write = write_lmdb,
                             .longest_name = 511,  // as LMDB is built unless told otherwise: MDB_MAXKEYSIZE
                             .room = lmdb_room,
                             .watched = watched_lmdb,
                             .reader = 1};  // 1: numbers and lists of names are no samples

}  // namespace penstock
