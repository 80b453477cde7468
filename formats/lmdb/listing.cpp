#include <algorithm>
#include <cstring>
#include <set>

#include <base/printable.hpp>
#include <formats/lmdb/listing.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostFields = 256;
constexpr std::string_view kSampleCount = "num-samples";

// Converts the machine's unsigned int or size_t to decimal digits, padded to the width of the largest value.
std::string decimal(std::string_view name) {
  std::uint64_t number = 0;
  if (name.size() != 4 && name.size() != 8)
    throw Error::corrupt("integer name of " + std::to_string(name.size()) + " bytes");
  std::memcpy(&number, name.data(), name.size());
  const std::string digits = std::to_string(number);
  return std::string((name.size() == 4 ? 10 : 20) - digits.size(), '0') + digits;
}

std::size_t dot_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', base);
  const bool splits = dot != std::string_view::npos && dot != base && dot + 1 != name.size();
  return splits ? dot : name.size();
}

LmdbName split_dotted(std::string_view name) {
  const std::size_t dot = dot_of(name);
  return {name.substr(0, dot), name.substr(std::min(dot + 1, name.size()))};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "image-000000001" is the field "image" of the sample "000000001". Returns nothing for other names.
LmdbName split_numbered(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == name.size()) return {};
  const std::string_view field = name.substr(0, dash), number = name.substr(dash + 1);
  const bool fits = std::ranges::all_of(number, is_digit) && std::ranges::none_of(field, is_digit);
  return fits ? LmdbName{number, field} : LmdbName{};
}

}  // namespace

void LmdbListing::add(const LmdbEntry& entry, std::uint16_t database, bool integer_name) {
  std::string digits;
  if (integer_name) {
    digits = decimal(entry.name);
  } else if (!is_printable(entry.name)) {
    digits = hexadecimal(entry.name);
  }
  const std::string_view name = digits.empty() ? entry.name : std::string_view(digits);
  values_.push_back({.begin = text_.size(),
                     .length = static_cast<std::uint32_t>(name.size()),
                     .database = database,
                     .opaque = !digits.empty(),
                     .offset = entry.offset,
                     .size = entry.length});
  text_ += name;
}

std::uint64_t LmdbListing::drop_descriptions() {
  const auto describes = [this](const Value& value) {
    return !value.opaque && (name(value).starts_with("__") || name(value) == kSampleCount);
  };
  if (std::ranges::all_of(values_, describes)) return 0;
  return std::erase_if(values_, describes);
}

LmdbNaming::LmdbNaming(const LmdbListing& listing, std::span<const std::string> databases, bool numbered)
    : listing_(listing), databases_(databases), rule_(Rule::whole) {
  if (!databases_.empty()) {
    rule_ = Rule::databases;
  } else if (numbered && all_numbered()) {
    rule_ = Rule::numbered;
  } else if (few_fields()) {
    rule_ = Rule::dotted;
  }
}

bool LmdbNaming::all_numbered() const {
  return std::ranges::all_of(listing_.values(), [this](const LmdbListing::Value& value) {
    return !value.opaque && !split_numbered(listing_.name(value)).key.empty();
  });
}

bool LmdbNaming::few_fields() const {
  std::set<std::string_view> fields;
  for (const LmdbListing::Value& value : listing_.values()) {
    if (value.opaque) continue;
    fields.insert(split_dotted(listing_.name(value)).extension);
    if (fields.size() > kMostFields) return false;
  }
  return true;
}

LmdbName LmdbNaming::of(const LmdbListing::Value& value) const {
  const std::string_view name = listing_.name(value);
  if (rule_ == Rule::databases) return {name, databases_[value.database]};
  if (value.opaque || rule_ == Rule::whole) return {name, {}};
  return rule_ == Rule::numbered ? split_numbered(name) : split_dotted(name);
}

}  // namespace penstock
