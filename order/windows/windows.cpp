#include <algorithm>
#include <bit>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <base/printable.hpp>
#include <formats/column.hpp>
#include <formats/extent.hpp>
#include <formats/json_member.hpp>
#include <formats/lists/number_table.hpp>
#include <order/windows/windows.hpp>
#include <penstock/error.hpp>
#include <penstock/mixture.hpp>
#include <transforms/chain/window.hpp>

namespace penstock {
namespace {

// Limit for expressions, because the library uses stack space for each character.
constexpr std::size_t kLongestKey = 4096;
constexpr std::uint64_t kMostGroups = 0xFFFFFFFF;

/// Finds the group of a key with a regular expression.
class KeyExpression {
 public:
  KeyExpression(const Dataset& dataset, const std::string& text) : dataset_(dataset.path().string()), text_(text) {
    try {
      expression_.assign(text, std::regex::ECMAScript);
    } catch (const std::regex_error& error) {
      throw Error::invalid_argument(
          "window(): group " + double_quoted(text) + " is not a regular expression: " + error.what(),
          {.dataset = dataset_});
    }
  }

  std::string group(std::string_view key) const {
    const ErrorContext where{.dataset = dataset_, .key = std::string(key)};
    if (key.size() > kLongestKey)
      throw Error::unsupported("a key of " + std::to_string(key.size()) + " bytes is too long for a regular expression",
                               where);
    std::match_results<std::string_view::const_iterator> match;
    bool found = false;
    try {
      found = std::regex_search(key.begin(), key.end(), match, expression_);
    } catch (const std::regex_error& error) {
      throw Error::invalid_argument("window(): group " + double_quoted(text_) + ": " + error.what(), where);
    }
    const std::size_t wanted = expression_.mark_count() > 0 ? 1 : 0;
    if (!found || !match[wanted].matched) {
      throw Error::invalid_argument(
          "window(): the key does not match " + double_quoted(text_) + ", so the sample is in no group", where);
    }
    return match[wanted].str();
  }

 private:
  std::string dataset_, text_;
  std::regex expression_;
};

/// Numbers groups in the order in which they appear.
class GroupNumbers {
 public:
  explicit GroupNumbers(std::uint64_t samples) : numbers_(std::make_unique<NumberTable>(samples, kMostGroups)) {}

  /// `source`: of a mixture, whose sources have separate groups.
  void set(std::uint64_t sample, std::uint64_t source, const std::string& group) {
    if (known_.empty() || source != source_ || group != last_) {
      source_ = source;
      last_ = group;
      const auto number = static_cast<std::uint32_t>(known_.size());
      current_ = known_.try_emplace(std::to_string(source) + ":" + group, number).first->second;
    }
    numbers_->set(sample, current_);
  }
  std::uint64_t count() const { return known_.size(); }
  std::unique_ptr<NumberTable> take() { return std::move(numbers_); }

 private:
  std::unique_ptr<NumberTable> numbers_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::string last_;
  std::uint64_t source_ = 0;
  std::uint32_t current_ = 0;
};

/// The number of the first sample of each source of a mixture; for one dataset, only 0.
std::vector<std::uint64_t> beginnings_of(const Mixture* mixture) {
  std::vector<std::uint64_t> beginnings{0};
  if (mixture == nullptr) return beginnings;
  for (const MixtureSource& source : mixture->sources())
    beginnings.push_back(beginnings.back() + source.dataset.size());
  beginnings.pop_back();
  return beginnings;
}

std::vector<bool> samples_lacking(const Dataset& dataset, const ChainWindow& window) {
  std::vector<bool> lacking;
  std::vector<Piece> pieces;
  for (const std::vector<std::string>& alternatives : window.needs) {
    std::vector<std::uint32_t> fields;
    for (const std::string& name : alternatives) {
      if (const auto value = find_value(dataset.fields(), name)) fields.push_back(value->field);
    }
    if (std::ranges::any_of(fields, [&](std::uint32_t field) { return dataset.complete(field); })) continue;
    if (lacking.empty()) lacking.resize(dataset.size(), false);
    for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
      if (lacking[sample]) continue;
      lacking[sample] =
          std::ranges::none_of(fields, [&](std::uint32_t field) { return dataset.locate(sample, field, pieces); });
    }
  }
  return lacking;
}

std::shared_ptr<const WindowTable> window_table_of(const Dataset& dataset, const ChainWindow& window,
                                                   std::span<const std::uint64_t> beginnings, const ReadSamples& read) {
  const WindowSpec& spec = *window.spec;
  WindowSamples samples{.count = dataset.size(), .lacking = samples_lacking(dataset, window)};
  std::optional<KeyExpression> pattern;
  std::optional<Column> group, number;
  if (is_key_expression(dataset, spec.group)) {
    pattern.emplace(dataset, spec.group);
  } else if (!spec.group.empty()) {
    group.emplace(dataset, spec.group);
  }
  const std::string& ordered = spec.at.empty() ? spec.order_by : spec.at;
  if (!ordered.empty()) {
    number.emplace(dataset, ordered);
    samples.numbers = std::make_unique<NumberTable>(dataset.size(), ~std::uint64_t{0});
  }
  const bool grouped = pattern || group || beginnings.size() > 1;
  if (grouped || number) {
    std::vector<std::uint32_t> fields;
    if (group) fields.push_back(group->field());
    if (number && !(group && group->field() == number->field())) fields.push_back(number->field());
    std::optional<GroupNumbers> numbers;
    if (grouped) numbers.emplace(dataset.size());
    std::uint64_t source = 0;
    read(fields, [&](const SampleValues& sample) {
      while (source + 1 < beginnings.size() && sample.sample >= beginnings[source + 1]) ++source;
      if (grouped) {
        numbers->set(sample.sample, source,
                     pattern ? pattern->group(sample.key)
                     : group ? group->text(sample, 0)
                             : std::string());
      }
      if (number)
        samples.numbers->set(sample.sample, std::bit_cast<std::uint64_t>(number->number(sample, fields.size() - 1)));
    });
    if (grouped) {
      samples.group_count = numbers->count();
      samples.groups = numbers->take();
    }
  }
  return std::make_shared<const WindowTable>(spec, std::move(samples));
}

}  // namespace

std::shared_ptr<const Windows> windows_for(const Dataset& dataset, std::span<const FieldChain> chains,
                                           const Mixture* mixture, const ReadSamples& read) {
  const std::vector<ChainWindow> windows = windows_of(chains);
  if (windows.empty()) return nullptr;
  const std::vector<std::uint64_t> beginnings = beginnings_of(mixture);
  auto made = std::make_shared<Windows>();
  for (const ChainWindow& window : windows) {
    try {
      made->tables.push_back(window_table_of(dataset, window, beginnings, read));
    } catch (const Error& error) {
      throw Error(error.kind(), "output \"" + window.output + "\": " + error.cause(), error.context());
    }
  }
  return made;
}

}  // namespace penstock
