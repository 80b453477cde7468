#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <base/printable.hpp>
#include <formats/column.hpp>
#include <formats/extent.hpp>
#include <formats/labels/label_table.hpp>
#include <formats/lists/sample_list.hpp>
#include <formats/rows/read_table.hpp>
#include <formats/views/key_pattern.hpp>
#include <loader/choices/layouts.hpp>
#include <loader/choices/sample_scan.hpp>
#include <loader/choices/values.hpp>
#include <penstock/error.hpp>
#include <penstock/select.hpp>
#include <penstock/views.hpp>

namespace penstock {
namespace {

constexpr std::size_t kNamedItems = 5;

std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), kNamedItems); ++i) text += (i == 0 ? "" : ", ") + items[i];
  return text + (items.size() > kNamedItems ? " and " + with_commas(items.size() - kNamedItems) + " more" : "");
}

template <typename Number>
std::string range_text(Number least, Number most) {
  const bool open = most == std::numeric_limits<Number>::max();
  return open ? "at least " + std::to_string(least)
              : (least == 0 ? "at most " : std::to_string(least) + " to ") + std::to_string(most);
}

// Narrows a view by one condition after the other.
class Narrowing {
 public:
  Narrowing(const Dataset& dataset, std::function<void()> tick) : view_(dataset), tick_(std::move(tick)) {}

  void by_patterns(const std::vector<std::string>& patterns) {
    if (patterns.empty()) return;
    std::vector<KeyPattern> wanted(patterns.begin(), patterns.end());
    by_index("keys " + listed(patterns), [&](std::uint64_t sample) {
      const std::string_view key = view_.key(sample);
      return std::ranges::any_of(wanted, [key](const KeyPattern& pattern) { return pattern.matches(key); });
    });
  }

  void by_keys(const std::vector<std::string>& keys, const std::string& about) {
    std::unordered_map<std::string_view, bool> wanted;
    for (const std::string& key : keys) wanted.emplace(key, false);
    SampleListBuilder builder;
    for (std::uint64_t sample = 0; sample < view_.size(); ++sample) {
      tick_at(sample);
      const auto found = wanted.find(view_.key(sample));
      if (found == wanted.end()) continue;
      found->second = true;
      builder.add(sample);
    }
    const auto absent = std::ranges::find_if(keys, [&](const std::string& key) { return !wanted.at(key); });
    if (absent != keys.end()) {
      const auto count = std::ranges::count_if(wanted, [](const auto& each) { return !each.second; });
      throw Error::invalid_argument(
          "no sample has the key \"" + one_line(*absent) + "\"" +
              (count > 1 ? " (or " + with_commas(static_cast<std::uint64_t>(count - 1)) + " more)" : "") + ", of " +
              with_commas(wanted.size()) +
              " requested keys; a string instead of a list is a pattern, such as \"cat/*\"",
          {.dataset = view_.path().string()});
    }
    narrow(std::move(builder).finish(), about);
  }

  void by_presence(const std::vector<std::string>& names) {
    if (names.empty()) return;
    std::vector<std::uint32_t> fields;
    for (const std::string& name : names) fields.push_back(field_named(view_, name));
    std::vector<Piece> pieces;
    by_index("with " + listed(names), [&](std::uint64_t sample) {
      return std::ranges::all_of(fields, [&](std::uint32_t field) { return view_.locate(sample, field, pieces); });
    });
  }

  void by_length(const std::string& name, const LengthRange& range) {
    const std::uint32_t field = field_named(view_, name);
    std::vector<Piece> pieces;
    by_index(name + " of " + range_text(range.least, range.most) + " bytes", [&](std::uint64_t sample) {
      const std::uint64_t length = view_.length(sample, field);
      if (length < range.least || length > range.most) return false;
      return length != 0 || view_.locate(sample, field, pieces);
    });
  }

  void by_label(const std::vector<std::string>& labels, const std::string& field) {
    if (labels.empty()) return;
    const Column column(view_, field);
    const bool classes = column.is_class() && !view_.classes().empty();
    std::unordered_set<std::string> wanted;
    for (const std::string& label : labels) wanted.insert(classes ? class_number(label) : label);
    by_values("labels " + listed(labels), {column.field()},
              [&](const SampleValues& sample) { return sample.values[0] && wanted.contains(column.text(sample, 0)); });
  }

  void by_sides(const std::string& name, const Sides& sides) {
    const std::uint32_t field = field_named(view_, name);
    narrow(with_sides(view_, field, sides, tick_),
           name + " with sides of " + range_text(sides.shortest, sides.longest) + " pixels");
  }

  void by_function(const FilterOptions& options) {
    if (!options.predicate) return;
    std::vector<std::uint32_t> fields;
    for (const std::string& name : options.predicate_fields) fields.push_back(field_named(view_, name));
    by_values("where " + options.predicate_about, fields, options.predicate);
  }

  const Dataset& view() const { return view_; }

 private:
  void tick_at(std::uint64_t sample) const {
    constexpr std::uint64_t kEvery = 4096;
    if (tick_ && sample % kEvery == 0) tick_();
  }

  template <typename Has>
  void by_index(const std::string& about, const Has& has) {
    SampleListBuilder builder;
    for (std::uint64_t sample = 0; sample < view_.size(); ++sample) {
      tick_at(sample);
      if (has(sample)) builder.add(sample);
    }
    narrow(std::move(builder).finish(), about);
  }

  void by_values(const std::string& about, const std::vector<std::uint32_t>& fields,
                 const std::function<bool(const SampleValues&)>& has) {
    SampleListBuilder builder;
    for_each_sample(
        view_, fields,
        [&](const SampleValues& sample) {
          if (has(sample)) builder.add(sample.sample);
        },
        tick_);
    narrow(std::move(builder).finish(), about);
  }

  void narrow(const SampleList& chosen, const std::string& about) { view_ = choose(view_, chosen, "only " + about); }

  std::string class_number(const std::string& label) const {
    const auto classes = view_.classes();
    const auto found = std::ranges::find(classes, label);
    if (found != classes.end()) return std::to_string(found - classes.begin());
    const bool number = !label.empty() && std::ranges::all_of(label, [](char c) { return c >= '0' && c <= '9'; });
    if (number && label.size() < 10 && std::stoul(label) < classes.size()) return std::to_string(std::stoul(label));
    throw Error::invalid_argument(double_quoted(label) + " is not a class; there are " + with_commas(classes.size()) +
                                      ": " + one_line(listed({classes.begin(), classes.end()})),
                                  {.dataset = view_.path().string()});
  }

  Dataset view_;
  std::function<void()> tick_;
};

std::vector<std::string> keys_in(const std::filesystem::path& file) {
  const std::string text = read_text_file(file);
  std::vector<std::string> keys;
  for (const std::string_view line : lines_of(text)) keys.emplace_back(line);
  if (keys.empty()) throw Error::invalid_argument("contains no keys", {.dataset = file.string()});
  return keys;
}

}  // namespace

SampleList with_sides(const Dataset& dataset, std::uint32_t field, const Sides& sides,
                      const std::function<void()>& tick) {
  static_assert(kScannedAtOnce % 64 == 0);  // of bits: no two threads write to the same word
  std::vector<std::uint64_t> chosen((dataset.size() + 63) / 64);
  for_each_layout(
      dataset, field,
      [&](std::uint64_t sample, const Layout& layout) {
        if (!layout.image) throw Error::unsupported("is not an image, so it has no sides");
        const auto [shorter, longer] = std::minmax(layout.shape[0], layout.shape[1]);
        if (shorter >= sides.shortest && longer <= sides.longest)
          chosen[sample / 64] |= std::uint64_t{1} << (sample % 64);
      },
      tick);
  SampleListBuilder builder;
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    if ((chosen[sample / 64] >> (sample % 64) & 1) != 0) builder.add(sample);
  }
  return std::move(builder).finish();
}

Dataset filter(const Dataset& dataset, const FilterOptions& options, const std::function<void()>& tick) {
  Narrowing narrowing(dataset, tick);
  narrowing.by_patterns(options.patterns);
  if (!options.keys.empty()) narrowing.by_keys(options.keys, "keys " + listed(options.keys));
  if (!options.key_file.empty()) narrowing.by_keys(keys_in(options.key_file), "keys in " + options.key_file.string());
  narrowing.by_presence(options.has);
  for (const auto& [field, range] : options.lengths) narrowing.by_length(field, range);
  narrowing.by_label(options.labels, options.label_field);
  for (const auto& [field, sides] : options.sizes) narrowing.by_sides(field, sides);
  narrowing.by_function(options);
  return narrowing.view();
}

}  // namespace penstock
