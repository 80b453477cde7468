#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <base/printable.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/indexed_path.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/index/probe_stamp.hpp>
#include <formats/labels/label_table.hpp>
#include <formats/labels/labels.hpp>
#include <formats/places/places.hpp>
#include <formats/rows/read_table.hpp>
#include <formats/table/columns.hpp>
#include <formats/table/table_format.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::size_t kMostNamed = 3;      // files in an error
constexpr std::size_t kMostLeftOut = 100;  // rows in the attributes

// The number of a field, and the bytes of its value in each row.
struct InlineField {
  FieldSchema schema;
  std::vector<std::optional<std::string>> values;
};

class TableIndexer {
 public:
  TableIndexer(const fs::path& shard, const fs::path& root, const OpenOptions& options)
      : shard_(shard), root_(root), options_(options), table_(read_table(shard)) {}

  Index index() {
    choose_columns();
    // The table is a file of the dataset, so that copies include it.
    builder_.add_file({.path = indexed_path(shard_, root_), .size = size_of_file(shard_), .stamp = 0});
    find_files();
    add_label();
    for (std::size_t column = 0; column < table_.columns.size(); ++column) {
      if (column != path_ && column != label_) add_column(column);
    }
    add_samples();
    if (!attributes_.empty())
      builder_.set_attributes(attributes_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return std::move(builder_).finish();
  }

 private:
  struct Found {
    std::string path, key;  // of the file, as the index names it; of the sample
    FieldSchema field;
    std::uint64_t size;
  };

  void choose_columns() {
    static constexpr std::array<std::string_view, 1> kKey{"key"};
    const auto& columns = table_.columns;
    if (table_.rows.empty()) throw Error::corrupt("contains no rows");
    std::optional<std::size_t> path;
    if (!options_.path_column.empty()) {
      path = column_named(columns, options_.path_column);
    } else {
      path = column_among(columns, kPathColumns);
      if (!path) path = column_among(columns, kKey);
    }
    if (shard_.extension() == ".json" && options_.path_column.empty() && !column_among(columns, kPathColumns))
      hint_ =
          "; if it describes a mixture, pass it to ps.mixture(), to read_mixture() in C++, or to the commands "
          "bench, tune and show";
    if (!path)
      throw Error::invalid_argument("no column has a usual name of paths (file, path, image, ...); pass path_column= " +
                                    ("(--path-column): the columns are " + joined_text(columns, ", ")) + hint_);
    path_ = *path;
    label_ = options_.label_column.empty() ? label_column(columns, path_).value_or(kNone)
                                           : column_named(columns, options_.label_column);
    if (label_ == path_)
      throw Error::invalid_argument("column " + double_quoted(columns[path_]) + " contains the paths");
  }

  // Removes the rows whose files are missing.
  void find_files() {
    const fs::path folder = options_.root.empty() ? root_ : fs::path(options_.root);
    std::vector<std::pair<std::string, std::string>> missing;
    std::vector<TableRow> rows;
    for (TableRow& row : table_.rows) {
      std::string text = row.cells[path_].text;
      require_path(row.place, text);
      const fs::path path = (folder / text).lexically_normal();
      struct stat status {};
      int failure = ::stat(path.c_str(), &status) != 0 ? errno : 0;
      if (failure == 0 && !S_ISREG(status.st_mode)) failure = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
      if (failure != 0) {
        missing.emplace_back(row.place, path.string() + ": " + std::generic_category().message(failure));
        continue;
      }
      add_file(row.place, path, text, static_cast<std::uint64_t>(status.st_size));
      rows.push_back(std::move(row));
    }
    if (!missing.empty()) leave_out(missing, rows.empty());
    table_.rows = std::move(rows);
  }

  void require_path(const std::string& place, const std::string& text) const {
    if (text.empty()) throw Error::corrupt(place + " has no path");
    if (text.find("://") != std::string::npos)
      throw Error::unsupported(place + ": " + double_quoted(text) +
                               " is an address; a table lists files of this machine: copy them, and pass root=");
    if (text.find('\0') != std::string::npos) throw Error::corrupt(place + ": the path contains a zero byte");
  }

  void leave_out(const std::vector<std::pair<std::string, std::string>>& missing, bool all) {
    if (options_.missing_files != "skip" || all) {
      std::string text =
          with_commas(missing.size()) + " of " + with_commas(table_.rows.size()) + " files cannot be opened: ";
      for (std::size_t i = 0; i < missing.size() && i < kMostNamed; ++i)
        text += (i == 0 ? "" : ", ") + missing[i].first + ": " + one_line(missing[i].second);
      if (missing.size() > kMostNamed) text += ", ...";
      text += all ? "; pass the folder of the paths as root= (--root)"
                  : "; correct the paths, or leave these rows out with missing_files=\"skip\" (--missing-files skip)";
      throw Error(ErrorKind::io, text + hint_);
    }
    auto& left_out = attributes_["left_out"];
    for (std::size_t i = 0; i < missing.size() && i < kMostLeftOut; ++i) left_out[missing[i].first] = missing[i].second;
    if (missing.size() > kMostLeftOut) left_out["rows"] = with_commas(missing.size() - kMostLeftOut) + " more rows";
  }

  void add_file(const std::string& place, const fs::path& path, const std::string& text, std::uint64_t size) {
    const fs::path name = fs::path(text).lexically_normal();
    const std::string extension = name.extension().string();
    if (extension.size() < 2)
      throw Error::corrupt(place + ": " + double_quoted(text) + " has no extension, which would name the field");
    std::string key = (name.parent_path() / name.stem()).string();
    while (key.starts_with("../")) key.erase(0, 3);
    key.erase(0, key.find_first_not_of('/'));
    files_.push_back({.path = indexed_path(path, root_),
                      .key = free_key(std::move(key)),
                      .field = field_from_extension(extension.substr(1)),
                      .size = size});
  }

  std::string free_key(std::string key) {
    std::string free = key;
    for (std::uint64_t& count = counts_[key]; !keys_.insert(free).second;)
      free = key + "#" + std::to_string(++count + 1);
    return free;
  }

  void add_label() {
    if (label_ == kNone) return;
    LabelTable labels{.column = table_.columns[label_], .rows = {}};
    std::vector<std::size_t> rows;
    bool lists = false;
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      labels.rows.push_back(label_row(files_[i].key, table_.rows[i].cells[label_]));
      lists = lists || labels.rows.back().list;
    }
    // An empty list has a meaning: none of the classes.
    for (std::size_t i = 0; i < labels.rows.size(); ++i) {
      if (lists || !labels.rows[i].items.empty()) rows.push_back(i);
    }
    if (rows.empty()) return;
    std::vector<std::uint64_t> row_of(rows.begin(), rows.end());
    if (rows.size() != labels.rows.size()) {
      std::erase_if(labels.rows, [](const LabelRow& row) { return row.items.empty(); });
      for (std::size_t i = 0; i < row_of.size(); ++i) row_of[i] = i;
    }
    const Labels made = encode_labels(labels, row_of, options_.classes);
    InlineField field{.schema = made.field, .values = std::vector<std::optional<std::string>>(table_.rows.size())};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto value = made.of(i);
      field.values[rows[i]].emplace(reinterpret_cast<const char*>(value.data()), value.size());
    }
    if (!made.classes.empty()) attributes_["classes"] = made.classes;
    add(std::move(field), table_.columns[label_]);
  }

  void add_column(std::size_t column) {
    const std::string& name = table_.columns[column];
    if (name.empty()) return;  // the row numbers that pandas writes
    ColumnValues made = values_of_column(table_, column);
    InlineField field{.schema = std::move(made.field), .values = {}};
    bool any = false;
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      std::optional<std::string>& value = field.values.emplace_back();
      if (table_.rows[i].cells[column].kind == TableCell::Kind::empty) continue;
      value = std::move(made.values[i]);
      any = true;
    }
    if (any) add(std::move(field), name);
  }

  void add(InlineField field, const std::string& column) {
    const auto taken = [&](const auto& other) { return other.name == field.schema.name; };
    if (std::ranges::any_of(inline_, taken, &InlineField::schema) || std::ranges::any_of(files_, taken, &Found::field))
      throw Error::invalid_argument("column " + double_quoted(column) + " would be the field " +
                                    double_quoted(field.schema.name) + ", which exists: rename the column");
    inline_.push_back(std::move(field));
  }

  void add_samples() {
    std::vector<std::uint32_t> numbers;
    std::unordered_map<std::string_view, std::uint32_t> known;
    for (const Found& file : files_) builder_.field(file.field);  // the files are the first fields
    for (const InlineField& field : inline_) numbers.push_back(builder_.field(field.schema));
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const Found& file = files_[i];
      builder_.add_sample(file.key);
      const auto [at, added] = known.try_emplace(file.path);
      if (added) at->second = builder_.add_file({.path = file.path, .size = file.size, .stamp = 0});
      builder_.set(builder_.field(file.field), Extent{.file = at->second, .offset = 0, .length = file.size});
      for (std::size_t f = 0; f < inline_.size(); ++f) {
        if (inline_[f].values[i]) {
          const Piece piece = inline_piece(std::as_bytes(std::span(*inline_[f].values[i])));
          builder_.set(numbers[f], std::span(&piece, 1));
        }
      }
    }
  }

  const fs::path& shard_;
  const fs::path& root_;
  const OpenOptions& options_;
  RowTable table_;
  std::string hint_;  // for the end of an error, if the file may not be a table
  std::size_t path_ = 0, label_ = kNone;
  std::vector<Found> files_;  // one per row
  std::unordered_map<std::string, std::uint64_t> counts_;
  std::unordered_set<std::string> keys_;
  std::vector<InlineField> inline_;
  nlohmann::json attributes_ = nlohmann::json::object();
  IndexBuilder builder_;
};

Index index_table_with(const fs::path& shard, const fs::path& root, const OpenOptions& options, const OpenProgress&) {
  try {
    return TableIndexer(shard, root, options).index();
  } catch (const Error& error) {
    throw error.in({.shard = indexed_path(shard, root)});
  }
}

Index index_table(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  return index_table_with(shard, root, {}, progress);
}

std::vector<fs::path> find_tables(const fs::path& path) {
  return is_table_name(path) && is_file(path) ? std::vector{path} : std::vector<fs::path>();
}

}  // namespace

// The listed files may change while the table does not, so each open makes the index.
constinit const Format kTable{.name = "table",
                              .extension = ".csv",
                              .find_shards = find_tables,
                              .index = index_table,
                              .stamp = probe_stamp,
                              .write = nullptr,
                              .depends = [](const OpenOptions&) { return true; },
                              .index_with = index_table_with,
                              .in_stores = false};

}  // namespace penstock
