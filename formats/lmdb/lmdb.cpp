#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <base/printable.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/indexed_path.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/lmdb/listing.hpp>
#include <formats/lmdb/lmdb.hpp>
#include <formats/lmdb/metadata.hpp>
#include <formats/lmdb/pages.hpp>
#include <formats/lmdb/values.hpp>
#include <formats/lmdb/writer.hpp>
#include <formats/places/places.hpp>
#include <formats/text/numpy_text.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// If all samples share the dtype and shape, elements are a raw field. Otherwise each value has a .npy header.
struct ElementsOfField {
  DType dtype;
  Shape shape;
  bool fixed = true;
};

class RecordsIndexer {
 public:
  RecordsIndexer(IndexBuilder& builder, std::uint32_t file, const LmdbListing& listing, LmdbRecords& records,
                 LmdbRecords::Kind kind)
      : builder_(builder), file_(file), listing_(listing), records_(records), kind_(kind) {}

  /// Returns the number of members of records that were left out.
  std::uint64_t run() {
    std::uint64_t left_out = 0;
    visit([&](const LmdbListing::Value&, std::uint64_t without) {
      left_out += without;
      for (const RecordField& field : fields_) learn(field);
    });
    visit([&](const LmdbListing::Value& value, std::uint64_t) {
      builder_.add_sample(listing_.name(value));
      for (const RecordField& field : fields_) set(field);
    });
    return left_out;
  }

 private:
  template <typename Visitor>
  void visit(const Visitor& visitor) {
    for (const LmdbListing::Value& value : listing_.values()) {
      try {
        visitor(value, records_.read(kind_, value, fields_));
      } catch (const Error& error) {
        throw error.in({.key = std::string(listing_.name(value)), .offset = value.offset});
      }
    }
  }

  void learn(const RecordField& field) {
    const auto* elements = std::get_if<RecordField::Elements>(&field.value);
    if (elements == nullptr) return;
    const auto [place, added] = elements_.try_emplace(field.name, ElementsOfField{elements->dtype, elements->shape});
    if (place->second.dtype != elements->dtype || place->second.shape != elements->shape) place->second.fixed = false;
  }

  void set(const RecordField& field) {
    if (const auto* encoded = std::get_if<RecordField::Encoded>(&field.value)) {
      FieldSchema schema = field_from_extension(field.name);
      schema.name = field.name;
      builder_.set(builder_.field(schema), Extent{file_, encoded->offset, encoded->length});
    } else if (const auto* text = std::get_if<RecordField::Text>(&field.value)) {
      const Piece piece = inline_piece(std::as_bytes(std::span(text->text)));
      builder_.set(builder_.field({.name = field.name, .codec = text->codec}), {&piece, 1});
    } else {
      set_elements(field.name, std::get<RecordField::Elements>(field.value));
    }
  }

  void set_elements(const std::string& name, const RecordField::Elements& elements) {
    const Extent extent{file_, elements.offset, elements.length};
    const ElementsOfField& known = elements_.at(name);
    if (known.fixed) {
      builder_.set(
          builder_.field({.name = name, .codec = "raw", .dtype = known.dtype, .shape = known.shape, .fixed = true}),
          extent);
      return;
    }
    const std::string header = npy_header_text(elements.dtype, elements.shape);
    const Piece pieces[] = {
        inline_piece(std::as_bytes(std::span(header))),
        {.kind = Piece::Kind::extent, .extent = extent, .length = extent.length, .inline_bytes = {}}};
    builder_.set(builder_.field({.name = name, .codec = "npy"}), pieces);
  }

  IndexBuilder& builder_;
  const std::uint32_t file_;
  const LmdbListing& listing_;
  LmdbRecords& records_;
  const LmdbRecords::Kind kind_;
  std::vector<RecordField> fields_;
  std::map<std::string, ElementsOfField> elements_;
};

// Adds one sample for each value, with the whole name as key. Elements are raw fields of fixed shape if all samples
// agree on dtype and shape, else .npy values. Reads every record twice, without its payload. Returns the number of
// members of records that were left out. Throws Error, with key and offset.
std::uint64_t index_records(IndexBuilder& builder, std::uint32_t file, const LmdbListing& listing, LmdbRecords& records,
                            LmdbRecords::Kind kind) {
  return RecordsIndexer(builder, file, listing, records, kind).run();
}

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

// All values of the file that may be samples: those of the named databases if these contain more than the main one,
// else those of the main one.
struct Contents {
  LmdbListing listing;
  std::vector<std::string> databases;  ///< that contain the values; empty: the main one
  bool numbered = false;               ///< the file stores its number of samples under the name "num-samples"
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

// Sorts only by key. The order of full names differs, because '-' comes before '.': the name "a-b.jpg" precedes
// "a.cls", but the key "a" precedes "a-b".
std::vector<LmdbListing::Value> by_key(const LmdbListing& listing, const LmdbNaming& naming) {
  std::vector<LmdbListing::Value> values(listing.values().begin(), listing.values().end());
  std::ranges::stable_sort(values, {}, [&](const LmdbListing::Value& value) { return naming.of(value).key; });
  return values;
}

void build_plain(IndexBuilder& builder, std::uint32_t file, const Contents& contents) {
  const LmdbNaming naming(contents.listing, contents.databases, contents.numbered);
  // Adds fields in the order of their names, independent of their order in the samples.
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

bool is_lock(std::string_view name) {
  return name.ends_with("lock.mdb") || name.ends_with("-lock");
}

}  // namespace

constinit const Format kLmdb{.name = "lmdb",
                             .extension = ".lmdb",
                             .find_shards = find_lmdb,
                             .index = index_lmdb,
                             .stamp = stamp_lmdb,
                             .write = write_lmdb,
                             .longest_name = 511,  // LMDB's default: MDB_MAXKEYSIZE
                             .room = lmdb_room,
                             .watched = watched_lmdb,
                             .reader = 1,  // 1: numbers and lists of names are not samples
                             .is_lock = is_lock,
                             .in_stores = false};

}  // namespace penstock
