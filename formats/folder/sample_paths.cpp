#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include <base/printable.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/folder/folder_names.hpp>
#include <formats/folder/key_ends.hpp>
#include <formats/folder/sample_paths.hpp>
#include <formats/folder/splits.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/io/own_files.hpp>
#include <formats/text/point_table.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Files that desktop environments create.
bool is_clutter(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name == "thumbs.db" || name == "ehthumbs.db" || name == "desktop.ini";
}

void add_class(IndexBuilder& builder, const std::string& number) {
  const Piece piece = inline_piece(std::as_bytes(std::span(number)));
  builder.set(builder.field({.name = "cls", .codec = "cls"}), std::span(&piece, 1));
}

std::unordered_map<std::string, std::string> numbered(const std::vector<std::string>& names) {
  std::unordered_map<std::string, std::string> number_of;
  for (std::size_t i = 0; i < names.size(); ++i) number_of.emplace(names[i], std::to_string(i));
  return number_of;
}

}  // namespace

void SamplePaths::add_file(std::string_view path, std::uint64_t number) {
  const FileName name = split_file_name(path);
  if (is_own_file(path.substr(path.rfind('/') + 1))) return;
  if (name.extension.empty() || is_clutter(path)) return leave_out(path);
  files_.push_back({.path = std::string(path),
                    .number = number,
                    .key_length = static_cast<std::uint32_t>(name.key.size()),
                    .extension_begin = static_cast<std::uint32_t>(name.key.size() + 1),
                    .media = is_media(name.extension)});
}

void SamplePaths::add_folder(std::string_view path) {
  if (path.find('/') == std::string_view::npos) first_level_.emplace_back(path);
}

void SamplePaths::leave_out(std::string_view path) {
  ++left_out_;
  if (left_out_example_.empty() || path < left_out_example_) left_out_example_ = path;
}

std::string SamplePaths::no_extensions() const {
  return "none of its files has an extension, which would name a field, for example " + one_line(left_out_example_);
}

void SamplePaths::leave_out(const std::vector<bool>& which) {
  std::size_t i = 0;
  std::erase_if(files_, [&](const File& file) {
    if (which[i]) leave_out(file.path);
    return which[i++];
  });
}

bool SamplePaths::shares_key(std::size_t i) const {
  return (i > 0 && files_[i - 1].key() == files_[i].key()) ||
         (i + 1 < files_.size() && files_[i + 1].key() == files_[i].key());
}

bool SamplePaths::is_class_folders() const {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].top_level() || !files_[i].media || shares_key(i)) return false;
  }
  return true;
}

// Leaves out README.md and similar files: see the rule in folder.hpp.
void SamplePaths::leave_out_notes() {
  if (std::none_of(files_.begin(), files_.end(), [](const File& file) { return file.media; })) return;
  std::vector<bool> note(files_.size());
  for (std::size_t i = 0; i < files_.size(); ++i) {
    note[i] = files_[i].top_level() && !files_[i].media && !shares_key(i);
  }
  leave_out(note);
}

// Leaves out a few texts and similar files in class folders, because they would change the layout and so remove all
// labels: see the rule in folder.hpp.
void SamplePaths::leave_out_strays() {
  std::vector<bool> stray(files_.size());
  std::size_t strays = 0;
  for (const auto& [first, last] : samples(Order::by_key)) {
    const bool media = std::any_of(first, last, [](const File& file) { return file.media; });
    if (media && (last - first > 1 || first->top_level())) return;  // the layout is shared stems
    if (media) continue;
    std::fill_n(stray.begin() + (first - files_.cbegin()), last - first, true);
    strays += static_cast<std::size_t>(last - first);
  }
  if (2 * strays < files_.size()) leave_out(stray);
}

// Tables beside photographs are labels or notes. In a folder of only tables they are clouds.
void SamplePaths::count_tables_as_media() {
  if (std::any_of(files_.begin(), files_.end(), [](const File& file) { return file.media; })) return;
  for (File& file : files_) file.media = extension_traits(field_from_extension(file.extension()).name).table;
}

// Runs of files that share a key.
std::vector<std::pair<SamplePaths::Files, SamplePaths::Files>> SamplePaths::samples(Order order) const {
  std::vector<std::pair<Files, Files>> runs;
  for (Files first = files_.begin(); first != files_.end();) {
    const Files last = std::find_if(first, files_.end(), [&](const File& file) { return file.key() != first->key(); });
    runs.emplace_back(first, last);
    first = last;
  }
  if (order == Order::by_number) {
    const auto earliest = [](const std::pair<Files, Files>& run) {
      return std::min_element(run.first, run.second, [](const File& a, const File& b) { return a.number < b.number; })
          ->number;
    };
    std::sort(runs.begin(), runs.end(), [&](const auto& a, const auto& b) { return earliest(a) < earliest(b); });
  }
  return runs;
}

void SamplePaths::add_field(IndexBuilder& builder, Files first, Files file, const LocateField& locate,
                            const CanBePoints& can_be_points) {
  FieldSchema schema = field_from_extension(file->extension());
  if (can_be_points && is_table(schema) && tables_.insert(schema.name).second && !can_be_points(file->path))
    schema.codec = "txt";
  const std::uint32_t field = builder.field(schema);
  if (builder.has(field)) {
    const Files other = std::find_if(
        first, file, [&](const File& known) { return field_from_extension(known.extension()).name == schema.name; });
    throw Error::corrupt("two files are the same field of one sample: " + other->path + " and " + file->path,
                         {.key = std::string(file->key())});
  }
  locate(builder, field, file->path, file->number);
}

void SamplePaths::sort() {
  std::sort(files_.begin(), files_.end(), [](const File& a, const File& b) {
    return std::tuple(a.key(), std::string_view(a.path)) < std::tuple(b.key(), std::string_view(b.path));
  });
}

void SamplePaths::end_keys() {
  std::vector<std::string_view> paths;
  for (const File& file : files_) paths.push_back(file.path);
  KeyEnds ends = penstock::key_ends(paths, options_.key);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_[i].key_length = ends.lengths[i];
    files_[i].extension_begin = ends.lengths[i] + 1;
  }
  key_rule_ = std::move(ends.rule);
}

// 001.jpg and 001.jpeg are files of one kind. If their stem has no other file, each is a sample.
void SamplePaths::keep_apart_by_full_name() {
  const auto field = [](const File& file) { return field_from_extension(file.extension()).name; };
  std::vector<std::size_t> full;
  std::size_t begin = 0;
  for (const auto& [first, last] : samples(Order::by_key)) {
    const std::size_t end = begin + static_cast<std::size_t>(last - first);
    if (end - begin > 1 &&
        std::all_of(first, last, [&field, name = field(*first)](const File& file) { return field(file) == name; })) {
      for (std::size_t i = begin; i < end; ++i) full.push_back(i);
    }
    begin = end;
  }
  if (full.empty()) return;
  for (const std::size_t i : full) files_[i].key_length = static_cast<std::uint32_t>(files_[i].path.size());
  sort();
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].key_length == files_[i].path.size() && shares_key(i))
      throw Error::invalid_argument("the full name of " + files_[i].path + " is the key of another sample: rename it");
  }
}

// A single split without classes below it may be the whole dataset: train.zip with train/1.jpg and train/1.txt.
void SamplePaths::refuse_splits(bool classes) const {
  if (!are_split_names(first_level_) || (first_level_.size() == 1 && !classes)) return;
  throw Error::invalid_argument(splits_refusal(place_, first_level_));
}

void SamplePaths::build(IndexBuilder& builder, Order order, const LocateField& locate,
                        const CanBePoints& can_be_points) && {
  sort();
  leave_out_notes();
  end_keys();
  sort();
  leave_out_notes();
  keep_apart_by_full_name();
  count_tables_as_media();
  leave_out_strays();
  const bool classes = is_class_folders();
  for (const File& file : files_) {
    if (!file.top_level()) first_level_.emplace_back(file.first_folder());
  }
  std::sort(first_level_.begin(), first_level_.end());
  first_level_.erase(std::unique(first_level_.begin(), first_level_.end()), first_level_.end());
  if (options_.split_names) refuse_splits(classes);
  const auto class_of = numbered(first_level_);
  for (const auto& [first, last] : samples(order)) {
    builder.add_sample(first->key());
    for (Files file = first; file != last; ++file) add_field(builder, first, file, locate, can_be_points);
    if (classes) add_class(builder, class_of.at(std::string(first->first_folder())));
  }
  nlohmann::json attributes{{"layout", classes ? "class folders" : "shared stems"}, {"left_out", left_out_}};
  if (left_out_ != 0) attributes["left_out_example"] = left_out_example_;
  if (!key_rule_.empty()) attributes["key"] = key_rule_;
  if (classes) attributes["classes"] = first_level_;
  builder.set_attributes(attributes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace penstock
