#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>

#include <penstock/formats/descriptor.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/formats/indexed_path.hpp>
#include <penstock/formats/lmdb.hpp>
#include <penstock/formats/lmdb_pages.hpp>
#include <penstock/formats/lmdb_writer.hpp>
#include <penstock/formats/printable.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDataFile = "data.mdb";
constexpr std::string_view kWholeValue = "value";
constexpr std::size_t kMostFields = 256;

bool begins_like_lmdb(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return false;
  const Descriptor descriptor = Descriptor::open(file, O_RDONLY);
  std::array<std::byte, LmdbPages::kHeadBytes> head{};
  return read_at(descriptor.get(), head, 0, file) == head.size() && LmdbPages::begins_like_one(head);
}

fs::path data_file(const fs::path& shard) {
  std::error_code ignored;
  return fs::is_directory(shard, ignored) ? shard / kDataFile : shard;
}

std::vector<fs::path> find_lmdb(const fs::path& path) {
  if (begins_like_lmdb(data_file(path))) return {path};
  std::vector<fs::path> shards;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return shards;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == kLmdb.extension && begins_like_lmdb(data_file(entry.path()))) {
      shards.push_back(entry.path());
    }
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

// All names of a shard in one piece of memory, and where their values lie.
class Names {
 public:
  void add(const LmdbEntry& entry) {
    const std::string hex = is_printable(entry.name) ? std::string() : hexadecimal(entry.name);
    const std::string_view name = hex.empty() ? entry.name : std::string_view(hex);
    const std::size_t split = hex.empty() ? dot_of(name) : name.size();
    if (split != name.size() && fields_.size() <= kMostFields) fields_.try_emplace(std::string(name.substr(split + 1)));
    entries_.push_back({text_.size(), static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(split),
                        entry.offset, entry.length});
    text_ += name;
  }

  void build(IndexBuilder& builder, std::uint32_t file) {
    const bool whole = fields_.size() > kMostFields;
    if (whole) {
      for (Entry& entry : entries_) entry.split = entry.length;
    }
    if (!whole) {
      for (auto& [extension, number] : fields_) number = builder.field(field_from_extension(extension));
    }
    // By key alone: as names, "a-b.jpg" stands between "a.cls" and "a.jpg"'s neighbours, for '-' comes before '.'.
    std::stable_sort(entries_.begin(), entries_.end(),
                     [this](const Entry& a, const Entry& b) { return key(a) < key(b); });
    const Entry* previous = nullptr;
    for (const Entry& entry : entries_) {
      if (previous == nullptr || key(*previous) != key(entry)) builder.add_sample(key(entry));
      previous = &entry;
      builder.set(field_of(entry, builder), Extent{file, entry.offset, entry.value_length});
    }
  }

 private:
  struct Entry {
    std::uint64_t begin;  // in text_
    std::uint32_t length;
    std::uint32_t split;  // where the dot is; length when there is none
    std::uint64_t offset;
    std::uint64_t value_length;
  };

  static std::size_t dot_of(std::string_view name) {
    const std::size_t slash = name.rfind('/');
    const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
    const std::size_t dot = name.find('.', base);
    const bool splits = dot != std::string_view::npos && dot != base && dot + 1 != name.size();
    return splits ? dot : name.size();
  }

  std::string_view key(const Entry& entry) const { return std::string_view(text_).substr(entry.begin, entry.split); }
  std::string extension(const Entry& entry) const {
    if (entry.split == entry.length) return std::string(kWholeValue);
    return text_.substr(entry.begin + entry.split + 1, entry.length - entry.split - 1);
  }
  std::uint32_t field_of(const Entry& entry, IndexBuilder& builder) const {
    if (entry.split == entry.length) return builder.field({.name = std::string(kWholeValue), .codec = ""});
    return fields_.find(extension(entry))->second;
  }

  std::string text_;
  std::vector<Entry> entries_;
  std::map<std::string, std::uint32_t> fields_;  // by extension; their numbers in the index
};

Index index_lmdb(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  const LmdbPages pages(data_file(shard));
  Names names;
  std::uint64_t databases = 0;
  std::uint64_t values = 0;
  pages.walk(
      [&](const LmdbEntry& entry) {
        if (entry.is_database) {
          ++databases;
          return;
        }
        ++values;
        names.add(entry);
      },
      progress);
  const ErrorContext where{.shard = shard.string()};
  if (values == 0 && databases != 0) {
    throw Error::unsupported(
        "LMDB that holds " + std::to_string(databases) + " named databases and no values of its own", where);
  }
  IndexBuilder builder;
  const std::uint32_t file = builder.add_file({indexed_path(data_file(shard), root), pages.file_size(), pages.stamp()});
  try {
    names.build(builder, file);
  } catch (const Error& error) {
    throw error.in(where);
  }
  if (databases != 0) builder.set_attributes("{\"left_out_databases\": " + std::to_string(databases) + "}");
  return std::move(builder).finish();
}

std::uint64_t stamp_lmdb(const fs::path& shard) {
  return LmdbPages(data_file(shard)).stamp();
}

}  // namespace

constinit const Format kLmdb{.name = "lmdb",
                             .extension = ".lmdb",
                             .find_shards = find_lmdb,
                             .index = index_lmdb,
                             .stamp = stamp_lmdb,
                             .write = write_lmdb,
                             .longest_name = 511,  // as LMDB is built unless told otherwise: MDB_MAXKEYSIZE
                             .room = lmdb_room};

}  // namespace penstock
