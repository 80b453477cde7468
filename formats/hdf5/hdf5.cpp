#include <algorithm>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <penstock/base/error.hpp>
#include <penstock/formats/hdf5/fields.hpp>
#include <penstock/formats/hdf5/file.hpp>
#include <penstock/formats/hdf5/hdf5.hpp>
#include <penstock/formats/hdf5/samples.hpp>
#include <penstock/formats/hdf5/writer.hpp>
#include <penstock/formats/index/indexed_path.hpp>
#include <penstock/formats/index/row_key.hpp>
#include <penstock/formats/index/row_limit.hpp>
#include <penstock/formats/io/folder_entries.hpp>
#include <penstock/formats/places/places.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool named_like_hdf5(const fs::path& file) {
  const fs::path extension = file.extension();
  return extension == ".h5" || extension == ".hdf5" || extension == ".he5";
}

std::vector<fs::path> find_hdf5(const fs::path& path) {
  if (is_file(path)) return hdf5_signature(path) ? std::vector{path} : std::vector<fs::path>();
  std::vector<fs::path> shards;
  if (!is_folder(path)) return shards;
  visit_place(path, [&](const char* name) {
    fs::path shard = path / name;
    if (named_like_hdf5(shard) && is_file(shard)) shards.push_back(std::move(shard));
    return true;
  });
  std::sort(shards.begin(), shards.end());
  return shards;
}

// Rows that most fields have; the larger count when two are as frequent.
std::uint64_t shared_count(const std::vector<Hdf5Field>& fields) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const Hdf5Field& field : fields) ++votes[field.count()];
  const auto most =
      std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second <= b.second; });
  return votes.empty() ? 0 : most->first;
}

void leave_out_other_counts(Hdf5Contents& contents, std::uint64_t count) {
  std::erase_if(contents.fields, [&](const Hdf5Field& field) {
    if (field.count() == count) return false;
    contents.left_out[field.name()] =
        std::to_string(field.count()) + " rows where the samples are " + std::to_string(count);
    return true;
  });
}

Error nothing_readable(const std::map<std::string, std::string>& left_out) {
  std::string cause = "no field that can be read";
  std::size_t named = 0;
  for (const auto& [name, reason] : left_out) {
    if (++named > 3) break;
    cause += "; " + name + ": " + reason;
  }
  if (named > 3) cause += "; ...";
  return Error::unsupported(cause);
}

// What reading rows that share chunks over several axes costs, field by field.
nlohmann::json costs_of(const Hdf5Contents& contents) {
  nlohmann::json costs = nlohmann::json::object();
  for (const Hdf5Field& field : contents.fields) {
    const Hdf5Rows& rows = field.rows();
    if (rows.chunks_per_row() == 0) continue;
    std::string whole = "1";
    for (const std::int64_t dim : rows.shape()) whole += "x" + std::to_string(dim);
    costs[field.name()] = "each row is put together from " + std::to_string(rows.chunks_per_row()) +
                          " chunks, each of " + std::to_string(rows.rows_per_chunk()) +
                          " rows; packed, or with chunks of one row (h5repack -l " + field.name() + ":CHUNK=" + whole +
                          "), it is read many times faster";
  }
  return costs;
}

nlohmann::json attributes_json(const std::vector<std::string>& classes, const nlohmann::json& costs,
                               const std::map<std::string, std::string>& left_out) {
  nlohmann::json attributes = nlohmann::json::object();
  if (!classes.empty()) attributes["classes"] = classes;
  if (!costs.empty()) attributes["costs"] = costs;
  if (!left_out.empty()) attributes["left_out"] = left_out;
  return attributes;
}

// Rows that are not stored, or whose chunks are one run of zeros, take as much of an index as any others.
void spend_for_index(const Hdf5File& file, const Hdf5Contents& contents, std::uint64_t count) {
  constexpr std::uint64_t kOfValue = 2, kOfPiece = 40;
  for (const Hdf5Field& field : contents.fields) {
    const std::uint64_t pieces = field.rows().pieces_per_row();
    file.spend(count * (pieces > 1 ? pieces * kOfPiece : kOfValue));
  }
}

void add_rows(Hdf5Contents& contents, std::uint64_t count, IndexBuilder& builder, const OpenProgress& progress) {
  std::vector<std::uint32_t> numbers;
  for (Hdf5Field& field : contents.fields) {
    numbers.push_back(builder.field(field.schema()));
    field.add_blocks(builder);
  }
  constexpr std::uint64_t kRowsPerProgress = 65536;
  std::vector<Piece> pieces;
  for (std::uint64_t row = 0; row < count; ++row) {
    builder.add_sample(contents.keys ? contents.keys->at(row) : row_key(row, count));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!contents.fields[i].locate(row, pieces)) continue;
      const bool one_extent = pieces.size() == 1 && pieces.front().kind == Piece::Kind::extent;
      one_extent ? builder.set(numbers[i], pieces.front().extent) : builder.set(numbers[i], pieces);
    }
    if (progress && row % kRowsPerProgress == 0) progress(row, count);
  }
  if (progress) progress(count, count);
}

Index build(const Hdf5File& file, IndexBuilder builder, const OpenProgress& progress) {
  Hdf5Contents contents = read_hdf5_contents(file);
  const std::uint64_t count = contents.keys ? contents.keys->size() : shared_count(contents.fields);
  nlohmann::json costs = nlohmann::json::object();
  const bool columns = contents.fields.size() <= kMostHdf5Columns;
  if (columns) leave_out_other_counts(contents, count);
  if (columns && !contents.fields.empty()) {
    spend_for_index(file, contents, count);
    require_row_limit(count, contents.fields.size(), file.size());
    costs = costs_of(contents);
    add_rows(contents, count, builder, progress);
  } else {
    std::map<std::string, std::string> left_out;
    index_hdf5_samples(file, builder, contents.classes, left_out, progress);
    if (builder.size() == 0) throw nothing_readable(left_out.empty() ? contents.left_out : left_out);
    contents.left_out = std::move(left_out);
  }
  const nlohmann::json attributes = attributes_json(contents.classes, costs, contents.left_out);
  if (!attributes.empty()) builder.set_attributes(attributes.dump());
  return std::move(builder).finish();
}

Index index_hdf5(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  const ErrorContext where{.shard = shard.string()};
  try {
    const Hdf5File file(shard);
    IndexBuilder builder;
    builder.add_file({indexed_path(shard, root), file.size(), hdf5_stamp(shard)});
    return build(file, std::move(builder), progress);
  } catch (const Error& error) {
    throw error.in(where);
  } catch (const std::bad_alloc&) {
    throw Error::resource("no memory for the index", where);
  } catch (const std::length_error&) {
    throw Error::resource("no memory for the index", where);
  }
}

}  // namespace

constinit const Format kHdf5{.name = "hdf5",
                             .extension = ".h5",
                             .find_shards = find_hdf5,
                             .index = index_hdf5,
                             .stamp = hdf5_stamp,
                             .write = write_hdf5,
                             .room = hdf5_room,
                             .reader = 3};

}  // namespace penstock
