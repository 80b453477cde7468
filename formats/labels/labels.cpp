#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <formats/folder/folder_names.hpp>
#include <formats/labels/label_table.hpp>
#include <formats/labels/labels.hpp>
#include <formats/places/places.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMany = kNone - 1;  // for an ambiguous name

using NumberOf = std::unordered_map<std::string_view, std::uint64_t>;

std::string_view base_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

void note(NumberOf& numbers, std::string_view name, std::uint64_t number) {
  const auto [known, added] = numbers.try_emplace(name, number);
  if (!added && known->second != number) known->second = kMany;
}

std::uint64_t number_in(const NumberOf& numbers, std::string_view name) {
  const auto known = numbers.find(name);
  return known == numbers.end() || known->second == kMany ? kNone : known->second;
}

// "a, b, c and 7 more"
class Names {
 public:
  void add(std::string_view name) {
    if (count_ < 5) text_ += (count_ == 0 ? "" : ", ") + std::string(name);
    ++count_;
  }
  std::size_t count() const { return count_; }
  std::string text() const { return count_ <= 5 ? text_ : text_ + " and " + std::to_string(count_ - 5) + " more"; }

 private:
  std::string text_;
  std::size_t count_ = 0;
};

// The keys that a name in a label file can mean: the name itself, and its parts before an extension. The end of the key
// in a name with words between dots depends on the other names of the dataset. Therefore both possible ends are tried.
struct NameKeys {
  explicit NameKeys(std::string_view name) : whole(name) {
    if (whole.starts_with("./")) whole.remove_prefix(2);
    const std::string_view base = base_of(whole);
    const std::size_t dot = std::min(base.rfind('.'), base.size());
    stems = {split_file_name(whole).key, whole.substr(0, whole.size() - base.size() + dot)};
  }
  std::string_view whole;
  std::array<std::string_view, 2> stems;
};

// Tells whether a name in a label file belongs to a sample.
class SampleNames {
 public:
  explicit SampleNames(const Dataset& dataset) : dataset_(dataset) {}

  bool contains(std::string_view name) {
    if (keys_.empty()) {
      for (std::uint64_t s = 0; s < dataset_.size(); ++s) {
        keys_.insert(dataset_.key(s));
        keys_.insert(base_of(dataset_.key(s)));
      }
    }
    const NameKeys keys(name);
    if (keys_.contains(keys.whole) || keys_.contains(base_of(keys.whole))) return true;
    return std::ranges::any_of(keys.stems, [&](std::string_view stem) {
      const bool extension = keys.whole.find(' ', stem.size()) == std::string_view::npos;  // not part of the label
      return extension && keys_.contains(base_of(stem));
    });
  }

 private:
  const Dataset& dataset_;
  std::unordered_set<std::string_view> keys_;  // and their last parts; collected when first needed
};

// Returns the row of each sample.
std::vector<std::uint64_t> match(const std::vector<LabelRow>& rows, const Dataset& dataset) {
  NumberOf by_key, by_stem, by_base, samples_by_base;
  for (std::uint64_t r = 0; r < rows.size(); ++r) {
    const NameKeys keys(rows[r].key);
    if (!by_key.try_emplace(keys.whole, r).second) throw Error::invalid_argument("two labels of " + rows[r].key);
    for (const std::string_view stem : keys.stems) {
      note(by_stem, stem, r);
      note(by_base, base_of(stem), r);
    }
  }
  for (std::uint64_t s = 0; s < dataset.size(); ++s) note(samples_by_base, base_of(dataset.key(s)), s);

  std::vector<std::uint64_t> row_of(dataset.size()), sample_of(rows.size(), kNone);
  Names unlabelled, unused;
  for (std::uint64_t s = 0; s < dataset.size(); ++s) {
    const std::string_view key = dataset.key(s);
    std::uint64_t row = number_in(by_key, key);
    if (row == kNone) row = number_in(by_stem, key);
    if (row == kNone && number_in(samples_by_base, base_of(key)) == s) row = number_in(by_base, base_of(key));
    row_of[s] = row;
    if (row == kNone) {
      unlabelled.add(key);
    } else if (sample_of[row] != kNone) {
      throw Error::invalid_argument("one label, \"" + rows[row].key + "\", for two samples: " +
                                    std::string(dataset.key(sample_of[row])) + " and " + std::string(key));
    } else {
      sample_of[row] = s;
    }
  }
  for (std::uint64_t r = 0; r < rows.size(); ++r) {
    if (sample_of[r] == kNone) unused.add(rows[r].key);
  }
  if (unlabelled.count() != 0) {
    throw Error::invalid_argument(std::to_string(unlabelled.count()) + " samples have no label: " + unlabelled.text());
  }
  if (unused.count() != 0) {
    throw Error::invalid_argument(std::to_string(unused.count()) + " labels have no sample: " + unused.text());
  }
  return row_of;
}

bool is_whole_value(const LabelItem& item) {
  return whole_value(item).has_value();
}

bool has_digits_only(const LabelItem& item) {
  return item.number && std::all_of(item.text.begin(), item.text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

template <typename Holds>
bool all_items(const std::vector<LabelRow>& rows, const Holds& holds) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const LabelRow& row) { return std::all_of(row.items.begin(), row.items.end(), holds); });
}

// Class names, and the way in which labels refer to them: by name or by number.
class Classes {
 public:
  Classes(const std::vector<LabelRow>& rows, std::span<const std::string> given)
      : names_(given.begin(), given.end()), bounded_(!given.empty()) {
    for (std::size_t i = 0; i < names_.size(); ++i) numbers_.emplace(names_[i], i);
    by_name_ = !all_items(rows, is_whole_value) ||
               (bounded_ && all_items(rows, [&](const LabelItem& item) { return numbers_.contains(item.text); }));
    if (by_name_ && !bounded_) collect(rows);
    if (!by_name_) find_largest(rows);
  }

  std::vector<std::string> names() && { return std::move(names_); }
  /// The number of classes. Throws Error: invalid_argument, if a class number is too large for flags of all classes.
  std::uint64_t count() const {
    if (by_name_ || bounded_) return names_.size();
    if (largest_ >= kMostClasses) {
      throw Error::invalid_argument("class number " + std::to_string(largest_) + " is too large");
    }
    return static_cast<std::uint64_t>(largest_) + 1;
  }

  std::int64_t number(const LabelItem& item, const std::string& key) const {
    if (by_name_) {
      const auto known = numbers_.find(item.text);
      if (known == numbers_.end()) throw Error::invalid_argument("unknown class \"" + item.text + "\"", {.key = key});
      return static_cast<std::int64_t>(known->second);
    }
    const std::int64_t number = *whole_value(item);
    if (bounded_ && (number < 0 || static_cast<std::uint64_t>(number) >= names_.size())) {
      throw Error::invalid_argument(
          "class number " + item.text + ", but there are " + std::to_string(names_.size()) + " classes", {.key = key});
    }
    return number;
  }

 private:
  static constexpr std::int64_t kMostClasses = std::int64_t{1} << 20;

  void collect(const std::vector<LabelRow>& rows) {
    for (const LabelRow& row : rows) {
      for (const LabelItem& item : row.items) {
        if (numbers_.emplace(item.text, 0).second) names_.push_back(item.text);
      }
    }
    std::sort(names_.begin(), names_.end());
    for (std::size_t i = 0; i < names_.size(); ++i) numbers_[names_[i]] = i;
  }

  void find_largest(const std::vector<LabelRow>& rows) {
    for (const LabelRow& row : rows) {
      for (const LabelItem& item : row.items) largest_ = std::max(largest_, *whole_value(item));
    }
  }

  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint64_t> numbers_;
  bool bounded_;
  bool by_name_ = false;
  std::int64_t largest_ = 0;
};

float number_of(const LabelItem& item, const std::string& key) {
  if (!item.number) throw Error::corrupt("\"" + item.text + "\" is not a number", {.key = key});
  return float_value(item);
}

// Converts rows to bytes, in the order of the samples.
class Encoder {
 public:
  Encoder(const LabelTable& table, std::span<const std::uint64_t> row_of, std::span<const std::string> classes)
      : rows_(table.rows), row_of_(row_of), given_(classes), name_(field_of_column(table.column)) {}

  Labels encode() {
    const bool lists = std::any_of(rows_.begin(), rows_.end(), [](const LabelRow& row) { return row.list; });
    if (lists) {
      encode_lists();
    } else {
      encode_plain();
    }
    return std::move(labels_);
  }

 private:
  void encode_plain() {
    for (const LabelRow& row : rows_) {
      if (row.items.empty()) throw Error::corrupt("the label is empty", {.key = row.key});
    }
    const bool all_numbers = all_items(rows_, [](const LabelItem& item) { return item.number; });
    if (all_numbers && !all_items(rows_, is_whole_value)) return encode_floats(Shape{});
    Classes classes(rows_, given_);
    labels_.field = {.name = "cls", .codec = "cls"};
    each_row([&](const LabelRow& row) {
      const std::string digits = std::to_string(classes.number(row.items[0], row.key));
      append(digits.data(), digits.size());
    });
    labels_.classes = std::move(classes).names();
  }

  void encode_lists() {
    const std::size_t length = rows_.front().items.size();
    const bool equal = length != 0 && std::all_of(rows_.begin(), rows_.end(),
                                                  [length](const LabelRow& row) { return row.items.size() == length; });
    const bool whole = all_items(rows_, has_digits_only);
    const bool flags =
        equal && (given_.empty() || given_.size() == length) &&
        all_items(rows_, [](const LabelItem& item) { return item.number && (item.text == "0" || item.text == "1"); });
    const bool numbers = all_items(rows_, [](const LabelItem& item) { return item.number; });
    if (flags) return encode_flags(length);
    if (!numbers || (whole && (!given_.empty() || !equal))) return encode_several_classes();
    if (equal) return encode_floats(Shape{static_cast<std::int64_t>(length)});
    throw Error::corrupt("lists of numbers of different lengths");
  }

  void encode_flags(std::size_t length) {
    fixed(DType::u8, Shape{static_cast<std::int64_t>(length)});
    labels_.classes.assign(given_.begin(), given_.end());
    each_row([&](const LabelRow& row) {
      for (const LabelItem& item : row.items) append(item.text == "1" ? "\1" : "\0", 1);
    });
  }

  void encode_several_classes() {
    Classes classes(rows_, given_);
    std::vector<char> flags(classes.count());
    fixed(DType::u8, Shape{static_cast<std::int64_t>(flags.size())});
    each_row([&](const LabelRow& row) {
      std::fill(flags.begin(), flags.end(), '\0');
      for (const LabelItem& item : row.items) {
        flags[static_cast<std::size_t>(classes.number(item, row.key))] = 1;
      }
      append(flags.data(), flags.size());
    });
    labels_.classes = std::move(classes).names();
  }

  void encode_floats(const Shape& shape) {
    fixed(DType::f32, shape);
    each_row([&](const LabelRow& row) {
      for (const LabelItem& item : row.items) {
        const float value = number_of(item, row.key);
        append(&value, sizeof(value));
      }
    });
  }

  void fixed(DType dtype, const Shape& shape) {
    labels_.field = {.name = name_, .codec = "raw", .dtype = dtype, .shape = shape, .fixed = true};
  }

  template <typename Encode>
  void each_row(const Encode& encode_row) {
    for (const std::uint64_t row : row_of_) {
      encode_row(rows_[row]);
      labels_.ends.push_back(labels_.bytes.size());
    }
  }

  void append(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    labels_.bytes.insert(labels_.bytes.end(), bytes, bytes + size);
  }

  const std::vector<LabelRow>& rows_;
  std::span<const std::uint64_t> row_of_;
  std::span<const std::string> given_;
  std::string name_;
  Labels labels_;
};

}  // namespace

Labels encode_labels(const LabelTable& table, std::span<const std::uint64_t> row_of,
                     std::span<const std::string> classes) {
  return Encoder(table, row_of, classes).encode();
}

std::string field_of_column(const std::string& column) {
  if (column.empty()) return "label";
  std::string name;
  for (const char c : column) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 || c == '-' ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return name;
}

std::span<const std::byte> Labels::of(std::uint64_t sample) const {
  const std::uint64_t first = sample == 0 ? 0 : ends.at(sample - 1);
  return std::span(bytes).subspan(first, ends.at(sample) - first);
}

namespace {

// Checks the part before the colon, because a file may be named "FILE:COLUMN". The colon of an address does not end a
// file name.
bool is_label_file(const fs::path& path, std::size_t colon) {
  if (path.native().substr(colon).starts_with("://") || path.native().substr(colon).starts_with(":/")) return true;
  const auto address = address_of(path);
  return address ? is_file(*address) : fs::exists(path);
}

}  // namespace

Labels read_labels(const std::string& file_and_column, const Dataset& dataset, std::span<const std::string> classes) {
  fs::path path = file_and_column;
  std::string column;
  const std::size_t colon = file_and_column.rfind(':');
  if (colon != std::string::npos && !is_label_file(path, colon)) {
    path = file_and_column.substr(0, colon);
    column = file_and_column.substr(colon + 1);
  }
  SampleNames names(dataset);
  const LabelTable table = read_label_table(address_of(path).value_or(path), column,
                                            [&](std::string_view name) { return names.contains(name); });
  try {
    const std::vector<std::uint64_t> row_of = match(table.rows, dataset);
    return encode_labels(table, row_of, classes);
  } catch (const Error& error) {
    throw error.in({.shard = path.string()});
  }
}

}  // namespace penstock
