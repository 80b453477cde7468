#include <algorithm>
#include <iterator>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/extent.hpp>
#include <formats/hdf5/fields.hpp>
#include <formats/hdf5/file.hpp>
#include <formats/hdf5/hdf5.hpp>
#include <formats/hdf5/samples.hpp>
#include <formats/hdf5/writer.hpp>
#include <formats/index/attributes.hpp>
#include <formats/index/index.hpp>
#include <formats/index/indexed_path.hpp>
#include <formats/index/row_key.hpp>
#include <formats/index/row_limit.hpp>
#include <formats/index/shared_rows.hpp>
#include <formats/places/places.hpp>
#include <penstock/error.hpp>

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

constexpr const char* kRemedy =
    "move the columns of the samples to a separate file, or add __key__, a text for each sample";

std::vector<ColumnSize> sizes_of(const std::vector<Hdf5Field>& fields) {
  std::vector<ColumnSize> sizes;
  for (const Hdf5Field& field : fields) sizes.push_back(field.size());
  return sizes;
}

// Returns how many leading dimensions all columns share: 1 if they share only their number of rows.
std::size_t shared_dimensions(const std::vector<ColumnSize>& columns) {
  Shape shared = columns.front().row;
  for (const ColumnSize& column : columns) {
    const auto [end, other] = std::ranges::mismatch(shared, column.row);
    shared.erase(end, shared.end());
  }
  return 1 + shared.size();
}

// Checks the last parts of their paths.
bool have_words_as_names(const std::vector<ColumnSize>& columns) {
  return std::ranges::all_of(columns, [](const ColumnSize& column) {
    return column.name.find_first_of(".0123456789", column.name.rfind('/') + 1) == std::string::npos;
  });
}

bool differ_in_type(const std::vector<const Hdf5Field*>& fields) {
  const auto other = [&](const Hdf5Field* field) {
    return field->schema().codec != fields[0]->schema().codec || field->schema().dtype != fields[0]->schema().dtype;
  };
  return std::ranges::any_of(fields, other);
}

// Returns whether datasets in groups are columns, instead of one sample each. Samples of one kind have the same type,
// and groups that are samples contain the same names. Columns share only their number of rows.
bool are_columns(const std::vector<Hdf5Field>& nested) {
  if (nested.size() < 2) return false;
  std::set<std::string> names;
  for (const Hdf5Field& field : nested) names.insert(field.name().substr(field.name().rfind('/') + 1));
  const bool splits = std::ranges::all_of(nested, names_split, &Hdf5Field::name);
  if (names.size() < nested.size() && !splits) return false;
  const auto count = rows_by_evidence(sizes_of(nested));
  if (!count || *count == 0) return false;
  std::vector<const Hdf5Field*> fields;
  std::vector<ColumnSize> columns;
  for (const Hdf5Field& field : nested) {
    if (field.count() != *count) continue;
    fields.push_back(&field);
    columns.push_back(field.size());
  }
  if (columns.size() < 2) return false;
  const auto [least, most] =
      std::ranges::minmax(columns, {}, [](const ColumnSize& column) { return column.row.size(); });
  const bool ranks_differ = least.row.size() != most.row.size();
  // Maps of one image share height and width. Datasets that share more and have four dimensions are batches of images.
  if (shared_dimensions(columns) > 1 && !(ranks_differ && most.row.size() >= 3)) return false;
  if (differ_in_type(fields)) return true;
  return ranks_differ && (least.row.empty() || most.row.size() >= 3) && have_words_as_names(columns);
}

// `__key__` decides. A column that only has a usual name for keys decides if other columns have its length. The top
// level has priority over groups.
std::uint64_t count_samples(Hdf5Contents& contents) {
  const std::vector<ColumnSize> top = sizes_of(contents.fields), nested = sizes_of(contents.nested);
  std::vector<ColumnSize> all = top;
  all.insert(all.end(), nested.begin(), nested.end());
  if (contents.keys) {
    const auto alike = std::ranges::count(all, contents.keys->size(), &ColumnSize::rows);
    if (!contents.keys_are_field || alike > 1 || all.size() == 1) return contents.keys->size();
    contents.keys.reset();
  }
  if (const auto rows = top.empty() ? std::nullopt : rows_by_evidence(top, nested)) return *rows;
  return shared_rows(all, kRemedy);
}

void leave_out_other_counts(Hdf5Contents& contents, std::uint64_t count) {
  std::erase_if(contents.fields, [&](const Hdf5Field& field) {
    if (field.count() == count) return false;
    contents.left_out[field.name()] = other_rows(field.count(), count);
    return true;
  });
}

// Strings with a usual name for class names are a column if there is one for each sample and some repeat.
void resolve_names(Hdf5Contents& contents, std::uint64_t count, std::vector<std::string>& warnings) {
  bool known = !contents.classes.empty();
  const bool labels = std::ranges::any_of(
      contents.fields, [&](const Hdf5Field& field) { return field.count() == count && field.is_whole_number(); });
  for (Hdf5Names& names : contents.names) {
    const std::string& name = names.field.name();
    const bool differ = std::set<std::string_view>(names.texts.begin(), names.texts.end()).size() == names.texts.size();
    const bool of_samples = names.texts.size() == count;
    const bool classes = !of_samples || (differ && labels);
    if (classes && !std::ranges::all_of(names.texts, is_printable)) {
      contents.left_out[name] = kUnprintableClasses;
      continue;
    }
    if (of_samples && differ)
      warnings.push_back(name + " has a different text for each sample: it is read as " +
                         (classes ? "class names, because there are labels" : "a field, because there are no labels"));
    if (classes && (names.first || !known)) {
      if (!known || names.first) contents.classes = std::move(names.texts);
      for (Hdf5Names& later : contents.names) later.first = false;
      known = true;
    } else {
      contents.fields.push_back(std::move(names.field));
    }
  }
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

// Describes the cost of reading rows that share chunks over several axes, field by field.
nlohmann::json costs_of(const Hdf5Contents& contents) {
  nlohmann::json costs = nlohmann::json::object();
  for (const Hdf5Field& field : contents.fields) {
    const Hdf5Rows& rows = field.rows();
    if (rows.chunks_per_row() == 0) continue;
    std::string whole = "1";
    for (const std::int64_t dim : rows.shape()) whole += "x" + std::to_string(dim);
    costs[field.name()] = "each row is assembled from " + std::to_string(rows.chunks_per_row()) + " chunks, each of " +
                          std::to_string(rows.rows_per_chunk()) +
                          " rows; reading is many times faster after packing, or with chunks of one row (h5repack -l " +
                          field.name() + ":CHUNK=" + whole + ")";
  }
  return costs;
}

// Rows that are not stored, or whose chunks are one run of zeros, need as much space in an index as other rows.
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

// Returns the rows of the column that the options name.
std::uint64_t rows_of(const Hdf5Contents& contents, const std::string& name) {
  std::vector<ColumnSize> columns = sizes_of(contents.fields);
  std::ranges::move(sizes_of(contents.nested), std::back_inserter(columns));
  return rows_of_column(columns, name);
}

bool read_as_columns(const Hdf5Contents& contents) {
  const bool keyed = contents.keys && !contents.keys_are_field && !contents.nested.empty();
  if (contents.fields.empty()) return keyed || are_columns(contents.nested);
  return contents.fields.size() <= kMostHdf5Columns;
}

// Keeps the fields that are columns of the samples, in the order of their names. Returns the number of samples.
std::uint64_t take_columns(Hdf5Contents& contents, const std::string& rows, std::vector<std::string>& warnings) {
  const std::uint64_t count = rows.empty() ? count_samples(contents) : rows_of(contents, rows);
  if (contents.keys && contents.keys->size() != count) contents.keys.reset();
  std::ranges::move(contents.nested, std::back_inserter(contents.fields));
  resolve_names(contents, count, warnings);
  leave_out_other_counts(contents, count);
  std::ranges::stable_sort(contents.fields, {}, &Hdf5Field::name);
  if (contents.fields.empty()) throw nothing_readable(contents.left_out);
  return count;
}

Index build(const Hdf5File& file, IndexBuilder builder, const std::string& rows, const OpenProgress& progress) {
  Hdf5Contents contents = read_hdf5_contents(file);
  nlohmann::json attributes = nlohmann::json::object();
  if (!rows.empty() || read_as_columns(contents)) {
    std::vector<std::string> warnings;
    const std::uint64_t count = take_columns(contents, rows, warnings);
    spend_for_index(file, contents, count);
    require_row_limit(count, contents.fields.size(), file.size());
    if (nlohmann::json costs = costs_of(contents); !costs.empty()) attributes["costs"] = std::move(costs);
    if (!warnings.empty()) attributes["warnings"] = warnings;
    add_rows(contents, count, builder, progress);
  } else {
    for (const Hdf5Names& names : contents.names) {
      const bool printable = std::ranges::all_of(names.texts, is_printable);
      if (printable && (contents.classes.empty() || names.first)) contents.classes = names.texts;
    }
    std::map<std::string, std::string> left_out;
    index_hdf5_samples(file, builder, contents.classes, left_out, progress);
    if (builder.size() == 0) {
      const Error error = nothing_readable(left_out.empty() ? contents.left_out : left_out);
      if (contents.nested.empty()) throw Error(error);
      throw Error::unsupported(error.cause() + "; groups are read as a dataset for each sample, not as columns");
    }
    contents.left_out = std::move(left_out);
    attributes["layout"] = kDatasetForEachSample;
  }
  if (!contents.classes.empty()) attributes["classes"] = contents.classes;
  if (!contents.left_out.empty()) attributes["left_out"] = contents.left_out;
  if (!attributes.empty()) builder.set_attributes(attributes.dump());
  return std::move(builder).finish();
}

Index index_hdf5_with(const fs::path& shard, const fs::path& root, const OpenOptions& options,
                      const OpenProgress& progress) {
  const ErrorContext where{.shard = shard.string()};
  try {
    const Hdf5File file(shard);
    IndexBuilder builder;
    builder.add_file({indexed_path(shard, root), file.size(), hdf5_stamp(shard)});
    return build(file, std::move(builder), options.rows, progress);
  } catch (const Error& error) {
    throw error.in(where);
  } catch (const std::bad_alloc&) {
    throw Error::resource("no memory for the index", where);
  } catch (const std::length_error&) {
    throw Error::resource("no memory for the index", where);
  }
}

Index index_hdf5(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  return index_hdf5_with(shard, root, {}, progress);
}

}  // namespace

constinit const Format kHdf5{
    .name = "hdf5",
    .extension = ".h5",
    .find_shards = find_hdf5,
    .index = index_hdf5,
    .stamp = hdf5_stamp,
    .write = write_hdf5,
    .room = hdf5_room,
    // 5: texts; 6: labels stored as integers, HDF5 2, bzip2, bitshuffle and scale-offset, texts that are not UTF-8
    .reader = 6,
    .depends = [](const OpenOptions& options) { return !options.rows.empty(); },
    .index_with = index_hdf5_with,
    .columns = true,
    .array_dimensions = 31};  // 32 with that of the samples (H5S_MAX_RANK)

}  // namespace penstock
