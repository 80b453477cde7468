#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <formats/extent.hpp>
#include <formats/field_types.hpp>
#include <formats/filters/filters.hpp>
#include <formats/filters/zstd.hpp>
#include <formats/index/index.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/index/probe_stamp.hpp>
#include <formats/index/row_key.hpp>
#include <formats/io/hash.hpp>
#include <formats/mds/columns.hpp>
#include <formats/mds/mds.hpp>
#include <formats/mds/writer.hpp>
#include <formats/places/header_window.hpp>
#include <formats/places/places.hpp>
#include <formats/text/json_cause.hpp>
#include <formats/text/json_document.hpp>
#include <formats/text/json_number.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Bytes = std::span<const std::byte>;

constexpr std::string_view kIndexName = "index.json", kKeyColumn = "__key__";
constexpr std::uint64_t kSmallSample = std::uint64_t{64} << 10, kSmallAhead = std::uint64_t{4} << 10;

/// A shard as described in index.json.
struct Description {
  std::vector<MdsColumn> columns;
  std::optional<std::size_t> key_column = {};
  std::uint64_t samples = 0;
  std::string compression = {};  // empty: none
  std::string raw_name = {}, zip_name = {};
  std::uint64_t raw_bytes = 0;
};

// Calls `read` and converts exceptions of the JSON library to an Error.
template <typename Read>
auto reading_json(const Read& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw Error::corrupt("not an index of MDS shards: " + json_cause(error), {.shard = std::string(kIndexName)});
  }
}

// Compares without allocation: the library's own comparison allocates memory in a function that must not throw.
bool is_text(const Json& value, std::string_view text) {
  return value.is_string() && value.get_ref<const std::string&>() == text;
}

std::string plain_name(const Json& file) {
  if (file.is_null()) return {};
  std::string name = file.at("basename");
  const fs::path path(name);
  if (name.empty() || path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end()) {
    throw Error::corrupt("a shard outside the folder: " + name, {.shard = std::string(kIndexName)});
  }
  return name;
}

void expect_shards(const fs::path& folder, const std::vector<Description>& shards) {
  if (!is_address(folder)) return;
  std::vector<fs::path> places;
  for (const Description& shard : shards) {
    for (const std::string& name : {shard.raw_name, shard.zip_name}) {
      if (!name.empty()) places.push_back(place_inside(folder, name));
    }
  }
  expect_places(places);
}

bool is_there(const fs::path& folder, const std::string& name) {
  return !name.empty() && is_file(is_address(folder) ? place_inside(folder, name) : folder / name);
}

Description description_from(const Json& json) {
  if (!is_text(json.at("format"), "mds")) {
    throw Error::unsupported("shards of format " + json.at("format").dump() + ": only mds is read",
                             {.shard = std::string(kIndexName)});
  }
  Description description{.columns = {}, .samples = whole_number(json.at("samples"))};
  const Json& names = json.at("column_names");
  const Json& encodings = json.at("column_encodings");
  const Json& sizes = json.at("column_sizes");
  if (encodings.size() != names.size() || sizes.size() != names.size()) {
    throw Error::corrupt("columns without encodings or sizes", {.shard = std::string(kIndexName)});
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string encoding = encodings.at(i);
    std::optional<std::uint64_t> size;
    if (!sizes.at(i).is_null()) size = whole_number(sizes.at(i));
    description.columns.push_back(mds_column(names.at(i), encoding, size));
    if (is_text(names.at(i), kKeyColumn) && (encoding == "str" || encoding == "bytes")) description.key_column = i;
  }
  if (json.contains("compression") && !json.at("compression").is_null())
    description.compression = json.at("compression");
  description.raw_name = plain_name(json.at("raw_data"));
  description.raw_bytes = whole_number(json.at("raw_data").at("bytes"));
  if (json.contains("zip_data")) description.zip_name = plain_name(json.at("zip_data"));
  return description;
}

std::vector<Description> read_index_json(const fs::path& folder) {
  const FileBytes file = read_place(folder / kIndexName);
  return reading_json([&] {
    const std::string_view text = text_of(file.bytes());
    const JsonDocument json(text);
    file.require_whole();
    std::vector<Description> shards;
    for (const Json& shard : json.root().at("shards")) shards.push_back(description_from(shard));
    if (shards.empty()) throw Error::invalid_argument("index.json lists no shards, so there are no samples");
    return shards;
  });
}

/// The plain bytes of a shard, from the file or from memory.
class ShardBytes {
 public:
  explicit ShardBytes(HeaderWindow& file) : file_(file) {}

  /// Decompresses the whole shard. Throws Error: corrupt, unsupported.
  void undo(const Block& block) {
    std::vector<std::byte> scratch;
    undo_filters(block, file_.read(0, file_.size()), plain_, scratch);
    in_memory_ = true;
  }

  std::uint64_t size() const { return in_memory_ ? plain_.size() : file_.size(); }

  Bytes read(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead = HeaderWindow::kAhead) {
    if (!in_memory_) return file_.read(offset, length, ahead);
    if (offset > plain_.size() || length > plain_.size() - offset) {
      throw file_.corrupt("the decompressed shard ends inside the data that begin here", offset);
    }
    return Bytes(plain_).subspan(offset, length);
  }

 private:
  HeaderWindow& file_;
  std::vector<std::byte> plain_;
  bool in_memory_ = false;
};

class MdsIndexer {
 public:
  explicit MdsIndexer(fs::path folder) : folder_(std::move(folder)), shards_(read_index_json(folder_)) {
    for (const Description& shard : shards_) {
      if (total_ > UINT64_MAX - shard.samples) throw Error::corrupt("too many samples");
      total_ += shard.samples;
    }
  }

  Index index(const OpenProgress& progress) {
    leave_out_differing();
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      add_shard(shards_[i]);
      if (progress) progress(i + 1, shards_.size());
    }
    return std::move(builder_).finish();
  }

 private:
  // An index has one type per field, except that codecs with magic bytes may differ. Columns of `bytes` do not count,
  // because a writer uses them in shards where a value is missing.
  void leave_out_differing() {
    std::map<std::string, FieldTypes> types;
    for (const Description& shard : shards_) {
      for (std::size_t i = 0; i < shard.columns.size(); ++i) {
        const FieldSchema& schema = shard.columns[i].schema;
        if (i != shard.key_column && (schema.fixed || !schema.codec.empty()))
          types[schema.name].add(schema, {shard.raw_name, shard.raw_name, shard.samples != 0});
      }
    }
    for (const auto& [name, field] : types) {
      const FieldDifferences differences = field.together().differences;
      if (differences.use != FieldDifferences::Use::any || differences.widened || differences.rows)
        left_out_[name] = "shards differ: " + differences.text;
    }
    if (!left_out_.empty())
      builder_.set_attributes(
          nlohmann::json{{"left_out", left_out_}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  void add_shard(const Description& shard) {
    const bool plain = is_there(folder_, shard.raw_name);
    const std::string& name = plain || shard.zip_name.empty() ? shard.raw_name : shard.zip_name;
    if (!is_there(folder_, name)) {
      throw Error::corrupt("index.json names a shard that does not exist: " + name);
    }
    HeaderWindow file(folder_ / name, name);
    try {
      ShardBytes bytes(file);
      file_number_ = builder_.add_file({.path = name, .size = file.size(), .stamp = probe_stamp(file.path())});
      block_.reset();
      if (!plain && !shard.compression.empty()) bytes.undo(compressed_block(shard, file));
      add_samples(shard, file, bytes);
    } catch (const Error& error) {
      throw error.in({.shard = name});
    }
  }

  Block compressed_block(const Description& shard, const HeaderWindow& file) {
    if (shard.compression != "zstd" && !shard.compression.starts_with("zstd:")) {
      throw Error::unsupported("the shard is compressed by " + shard.compression +
                               ": write it again with compression='zstd', or without compression");
    }
    if (!zstd_is_linked()) throw Error::unsupported("the shard is compressed by zstd: " + std::string(kZstdIsAbsent));
    Block block{.extent = {.file = file_number_, .offset = 0, .length = file.size()},
                .filters = {{Filter::Id::zstd, 0}},
                .decoded_length = shard.raw_bytes};
    if (shard.raw_bytes > longest_decoded(file.size(), block.filters)) {
      throw Error::corrupt("the shard declares " + std::to_string(shard.raw_bytes) + " bytes, more than its " +
                           std::to_string(file.size()) + " stored bytes can contain");
    }
    block_ = builder_.add_block(block);
    return block;
  }

  void add_samples(const Description& shard, const HeaderWindow& file, ShardBytes& bytes) {
    const auto count = little_endian<std::uint32_t>(bytes.read(0, 4), 0);
    if (count != shard.samples) {
      throw file.corrupt(
          "the shard has " + std::to_string(count) + " samples, index.json says " + std::to_string(shard.samples), 0);
    }
    const Bytes table = bytes.read(4, 4 * (std::uint64_t{count} + 1));
    std::vector<std::uint32_t> offsets;
    for (std::uint64_t i = 0; i <= count; ++i) offsets.push_back(little_endian<std::uint32_t>(table, 4 * i));
    for (std::uint64_t i = 0; i < count; ++i) {
      if (offsets[i] > offsets[i + 1] || offsets[i + 1] > bytes.size()) {
        throw file.corrupt("sample " + std::to_string(i) + " ends before it begins, or after the end of the shard",
                           4 + 4 * i);
      }
      add_sample(shard, file, bytes, offsets[i], offsets[i + 1]);
    }
  }

  void add_sample(const Description& shard, const HeaderWindow& file, ShardBytes& bytes, std::uint64_t begin,
                  std::uint64_t end) {
    const std::uint64_t ahead = end - begin > kSmallSample ? kSmallAhead : HeaderWindow::kAhead;
    lengths_.clear();
    std::uint64_t at = begin;
    for (const MdsColumn& column : shard.columns) {
      if (column.size) {
        lengths_.push_back(*column.size);
        continue;
      }
      if (end - at < 4) throw file.corrupt("a sample ends inside the sizes of its values", begin);
      lengths_.push_back(little_endian<std::uint32_t>(bytes.read(at, 4, ahead), 0));
      at += 4;
    }
    begins_.clear();
    for (const std::uint64_t length : lengths_) {
      if (length > end - at) throw file.corrupt("the values of a sample are longer than the sample", begin);
      begins_.push_back(at);
      at += length;
    }
    if (at != end) throw file.corrupt("a sample is longer than its values", begin);
    builder_.add_sample(key_of(shard, bytes, ahead));
    ++number_;
    for (std::size_t i = 0; i < shard.columns.size(); ++i) {
      if (i != shard.key_column && !left_out_.contains(shard.columns[i].schema.name))
        set(shard.columns[i], bytes, begins_[i], lengths_[i], ahead);
    }
  }

  std::string key_of(const Description& shard, ShardBytes& bytes, std::uint64_t ahead) {
    if (!shard.key_column) return row_key(number_, total_);
    return std::string(text_of(bytes.read(begins_[*shard.key_column], lengths_[*shard.key_column], ahead)));
  }

  void set(const MdsColumn& column, ShardBytes& bytes, std::uint64_t begin, std::uint64_t length, std::uint64_t ahead) {
    const std::uint32_t field = builder_.field(column.schema);
    if (column.kind == MdsColumn::Kind::plain) {
      if (column.schema.fixed && length != element_count(column.schema.shape) * size_of(column.schema.dtype)) {
        throw Error::corrupt("a value has " + std::to_string(length) + " bytes, but its encoding requires another size",
                             {.field = column.schema.name, .offset = begin});
      }
      const Piece piece = piece_of(begin, length);
      return builder_.set(field, std::span(&piece, 1));
    }
    try {
      const MdsArray array = read_mds_array(
          column, bytes.read(begin, std::min<std::uint64_t>(length, kLongestMdsArrayHeader), ahead), length);
      const Piece header = inline_piece(std::as_bytes(std::span(array.npy_header)));
      builder_.set(field, std::array{header, piece_of(begin + array.skip, length - array.skip)});
    } catch (const Error& error) {
      throw error.in({.field = column.schema.name, .offset = begin});
    }
  }

  Piece piece_of(std::uint64_t begin, std::uint64_t length) const {
    if (block_) {
      return {.kind = Piece::Kind::block, .block = *block_, .offset = begin, .length = length, .inline_bytes = {}};
    }
    return {.kind = Piece::Kind::extent,
            .extent = {.file = file_number_, .offset = begin, .length = length},
            .length = length,
            .inline_bytes = {}};
  }

  fs::path folder_;
  std::vector<Description> shards_;
  std::uint64_t total_ = 0;   // samples of all shards
  std::uint64_t number_ = 0;  // samples so far
  IndexBuilder builder_;
  std::map<std::string, std::string> left_out_;  // field -> reason
  std::uint32_t file_number_ = 0;                // of the current shard
  std::optional<std::uint32_t> block_ = {};      // the current shard, if it is compressed
  std::vector<std::uint64_t> begins_, lengths_;  // of the current sample's values
};

Index index_mds(const fs::path& shard, const fs::path&, const OpenProgress& progress) {
  return MdsIndexer(shard).index(progress);
}

constexpr std::string_view kShards = "\"shards\"";

// Returns whether an empty list follows a name in JSON.
bool is_empty_list(std::string_view text) {
  for (const char wanted : {':', '[', ']'}) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with(wanted)) return false;
    text.remove_prefix(1);
  }
  return true;
}

bool lists_mds_shards(const fs::path& index) {
  if (!is_file(index)) return false;
  const FileBytes file = read_place(index);
  const std::string_view text = text_of(file.bytes());
  const std::size_t shards = text.find(kShards);
  const bool found = shards != std::string_view::npos && (text.find("\"column_encodings\"") != std::string_view::npos ||
                                                          is_empty_list(text.substr(shards + kShards.size())));
  file.require_whole();
  return found;
}

std::vector<fs::path> find_mds(const fs::path& path) {
  const fs::path folder = path.filename() == kIndexName ? path.parent_path() : path;
  if (!lists_mds_shards(folder / kIndexName)) return {};
  return {folder.empty() ? fs::path(".") : folder};
}

std::uint64_t stamp_mds(const fs::path& folder) {
  const FileBytes index = read_place(folder / kIndexName);
  std::uint64_t stamp = hash64(text_of(index.bytes()));
  index.require_whole();
  for (const Description& shard : read_index_json(folder)) {
    for (const std::string& name : {shard.raw_name, shard.zip_name}) {
      const bool there = is_there(folder, name);
      stamp = mix64(stamp ^ (there ? mix64(size_of_file(folder / name) + 1) : 0));
    }
  }
  return stamp;
}

std::vector<fs::path> watched_mds(const fs::path& folder) {
  std::vector<fs::path> files{folder / kIndexName};
  const std::vector<Description> shards = read_index_json(folder);
  expect_shards(folder, shards);
  for (const Description& shard : shards) {
    for (const std::string& name : {shard.raw_name, shard.zip_name}) {
      if (is_there(folder, name)) files.push_back(folder / name);
    }
  }
  return files;
}

}  // namespace

constinit const Format kMds{.name = "mds",
                            .extension = ".mds",
                            .find_shards = find_mds,
                            .index = index_mds,
                            .stamp = stamp_mds,
                            .write = write_mds,
                            .room = mds_room,
                            .complete = write_mds_index,
                            .watched = watched_mds,
                            .reader = 1,  // 1: a field has one type in all shards
                            .list_file = "index.json"};

}  // namespace penstock
