#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <formats/lmdb/metadata.hpp>
#include <formats/places/header_window.hpp>

namespace penstock {
namespace {

using Value = LmdbListing::Value;

constexpr std::uint64_t kShortest = 32;                          // longer than any number
constexpr std::uint64_t kLongestList = std::uint64_t{64} << 20;  // for a list of names
constexpr std::size_t kProbed = 8, kMostNumbers = 8;
constexpr std::uint64_t kMostPerSample = 256;
constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};

// Names in public programs: stylegan2-pytorch, text recognition, CLIP, ImageFolder2LMDB and others.
bool is_known_name(std::string_view name) {
  constexpr std::array<std::string_view, 20> kNames{
      "length",    "len",         "size",       "count",    "total",       "num_samples", "nsamples",
      "n_samples", "num-samples", "num_images", "n",        "num_records", "num_entries", "nitems",
      "__len__",   "keys",        "__keys__",   "key_list", "meta",        "metadata"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool has_digit(std::string_view name) {
  return std::ranges::any_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

enum class Kind { digits, pickle, other };

bool is_pickle(std::string_view bytes) {  // protocol 2 or later
  return bytes.size() > 3 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 && bytes.back() == '.';
}

std::string_view trimmed_right(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::optional<std::uint64_t> decimal(std::string_view text) {
  text = trimmed_right(text);
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint64_t little(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

// A pickled int: PROTO, optionally FRAME, then BININT, BININT1, BININT2 or LONG1, and STOP.
std::optional<std::uint64_t> pickled(std::string_view bytes) {
  if (!is_pickle(bytes)) return std::nullopt;
  bytes = bytes.substr(2, bytes.size() - 3);
  if (bytes.starts_with('\x95') && bytes.size() > 9) bytes.remove_prefix(9);
  if (bytes.empty()) return std::nullopt;
  const char code = bytes.front();
  bytes.remove_prefix(1);
  const bool one = code == 'K' && bytes.size() == 1, two = code == 'M' && bytes.size() == 2;
  const bool four = code == 'J' && bytes.size() == 4 && bytes.back() >= 0;
  if (one || two || four) return little(bytes);
  if (code != '\x8A' || bytes.empty() || static_cast<std::size_t>(bytes.front()) != bytes.size() - 1)
    return std::nullopt;
  return bytes.size() > 9 ? std::nullopt : std::optional(little(bytes.substr(1)));
}

std::optional<std::uint64_t> number_in(std::string_view bytes) {
  if (const auto number = decimal(bytes)) return number;
  if (const auto number = pickled(bytes)) return number;
  if (bytes.size() == 4 || bytes.size() == 8) return little(bytes);
  return std::nullopt;
}

Kind kind_of(std::string_view bytes) {
  if (decimal(bytes)) return Kind::digits;
  return is_pickle(bytes) ? Kind::pickle : Kind::other;
}

class Metadata {
 public:
  Metadata(LmdbListing& listing, const std::filesystem::path& file) : listing_(listing), file_(file, file.string()) {}

  LmdbMetadata drop() {
    LmdbMetadata found;
    for (const Value* candidate : candidates()) {
      std::string why = reason(*candidate, found);
      if (!why.empty()) found.left_out.emplace(listing_.name(*candidate), std::move(why));
    }
    listing_.drop([&](std::string_view name) { return found.left_out.contains(std::string(name)); });
    return found;
  }

 private:
  // Returns values with a name that programs use, and short values with an unnumbered name, unless there are many of
  // the latter.
  std::vector<const Value*> candidates() {
    std::vector<const Value*> known, others;
    for (const Value& value : listing_.values()) {
      const std::string_view name = listing_.name(value);
      const bool plain = !value.opaque && name.find('.') == std::string_view::npos && !has_digit(name);
      if (plain && is_known_name(name)) {
        known.push_back(&value);
        continue;
      }
      if (plain && value.size <= kShortest && others.size() <= kMostNumbers) others.push_back(&value);
      if (probes_.size() < kProbed) probes_.push_back(&value);
    }
    samples_ = listing_.values().size() - known.size();
    if (samples_ == 0) return {};
    if (others.size() <= kMostNumbers) known.insert(known.end(), others.begin(), others.end());
    return known;
  }

  std::string reason(const Value& value, LmdbMetadata& found) {
    const bool known = is_known_name(listing_.name(value));
    if (known && lists_names(value)) return "a list of the names of the other values";
    const std::uint64_t others = samples_ - (known ? 0 : 1);
    const std::string bytes = ends_of(value);
    const Kind kind = kind_of(bytes);
    const std::uint64_t number = value.size <= kShortest ? number_in(bytes).value_or(kNoNumber) : kNoNumber;
    const bool stands_out = kind != Kind::other && is_rare(kind, value);
    const std::string shown = std::to_string(number);
    if (number == others && others > 0 && (known || stands_out)) return "the number of the other values, " + shown;
    if (!known) return {};
    if (number != kNoNumber && number > 1 && others % number == 0 && others / number <= kMostPerSample) {
      found.counts_samples = true;
      return "the number of samples, " + shown;
    }
    if (!stands_out) return {};
    if (number == kNoNumber) return "a pickle beside values of another kind";
    return "a number, " + shown + ", beside values of another kind";
  }

  bool lists_names(const Value& value) {
    if (value.size <= kShortest || value.size > kLongestList || probes_.size() < 2) return false;
    const std::string list(text_of(file_.read(value.offset, value.size, value.size)));
    return std::ranges::all_of(
        probes_, [&](const Value* probe) { return list.find(listing_.name(*probe)) != std::string::npos; });
  }

  // Returns whether at most one in four of the other values is of this kind.
  bool is_rare(Kind kind, const Value& of) {
    const auto alike = std::ranges::count_if(
        probes_, [&](const Value* probe) { return probe != &of && kind_of(ends_of(*probe)) == kind; });
    return static_cast<std::size_t>(alike) * 4 <= probes_.size();
  }

  // Returns the first bytes and the last byte, which identify numbers and pickles.
  std::string ends_of(const Value& value) {
    std::string bytes(text_of(file_.read(value.offset, std::min(value.size, kShortest), kShortest)));
    if (value.size > kShortest) bytes += text_of(file_.read(value.offset + value.size - 1, 1, 1));
    return bytes;
  }

  LmdbListing& listing_;
  HeaderWindow file_;
  std::vector<const Value*> probes_;
  std::uint64_t samples_ = 0;  // values without a known name
};

}  // namespace

LmdbMetadata drop_metadata(LmdbListing& listing, const std::filesystem::path& file) {
  return Metadata(listing, file).drop();
}

}  // namespace penstock
