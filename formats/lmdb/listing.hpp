// Lists all names of an LMDB file in one block of memory, with the sample and the field of each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/lmdb/pages.hpp>

namespace penstock {

/// The key of a sample, and a field's extension as field_from_extension() accepts it. The extension is empty if the
/// whole value is the sample.
struct LmdbName {
  std::string_view key, extension;
};

class LmdbListing {
 public:
  struct Value {
    std::uint64_t begin;   ///< start of the name in the listing's text
    std::uint32_t length;  ///< of the name
    std::uint16_t database;
    bool opaque;  ///< the name is in hexadecimal or decimal digits because it is not printable, so it is not split
    std::uint64_t offset, size;  ///< of the value in the file
  };

  /// Converts names that are not printable UTF-8 to hexadecimal digits, and integers to decimal digits (10 or 20 of
  /// them, so that their order stays). Throws Error: corrupt, if an integer name has a wrong length.
  void add(const LmdbEntry& entry, std::uint16_t database, bool integer_name);
  std::string_view name(const Value& value) const { return std::string_view(text_).substr(value.begin, value.length); }
  std::span<const Value> values() const { return values_; }
  /// Removes values that describe the file instead of a sample: names that begin with two underscores, and
  /// "num-samples". Returns how many there were. A file that contains nothing else keeps them.
  std::uint64_t drop_descriptions();
  /// Removes the values whose names are `unwanted`.
  template <typename Unwanted>
  void drop(const Unwanted& unwanted) {
    std::erase_if(values_, [&](const Value& value) { return unwanted(name(value)); });
  }

 private:
  std::string text_;
  std::vector<Value> values_;
};

/// The naming rule of a file, derived from all of its names.
class LmdbNaming {
 public:
  /// `databases` are the names of the named databases that contain the values. Empty for the main database.
  LmdbNaming(const LmdbListing& listing, std::span<const std::string> databases, bool numbered);
  LmdbName of(const LmdbListing::Value& value) const;

 private:
  enum class Rule {
    whole,      ///< the name is the key
    dotted,     ///< KEY.FIELD, split at the first dot after the last slash
    numbered,   ///< FIELD-NUMBER
    databases,  ///< the named database is the field
  };
  bool all_numbered() const;
  bool few_fields() const;

  const LmdbListing& listing_;
  std::span<const std::string> databases_;
  Rule rule_;
};

}  // namespace penstock
