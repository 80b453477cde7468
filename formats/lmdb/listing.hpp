// Lists every name of an LMDB file in one piece of memory, with the sample and field that it stands for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/lmdb/pages.hpp>

namespace penstock {

/// The key of a sample, and a field's extension as field_from_extension() takes it; none where the whole value is the
/// sample.
struct LmdbName {
  std::string_view key, extension;
};

class LmdbListing {
 public:
  struct Value {
    std::uint64_t begin;   ///< of the name, in the listing's text
    std::uint32_t length;  ///< of the name
    std::uint16_t database;
    bool opaque;  ///< the name stands in hexadecimal or decimal digits, for it is not printable: nothing to split
    std::uint64_t offset, size;  ///< of the value in the file
  };

  /// Names that are not printable UTF-8 become their hexadecimal digits, integers decimal ones (10 or 20 of them, so
  /// that their order stays). Throws Error: corrupt, for an integer name that is none.
  void add(const LmdbEntry& entry, std::uint16_t database, bool integer_name);
  std::string_view name(const Value& value) const { return std::string_view(text_).substr(value.begin, value.length); }
  std::span<const Value> values() const { return values_; }
  /// Removes values that describe the file and are no samples: names that begin with two underscores, "num-samples".
  /// Returns how many there were; a file of nothing else keeps them.
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

/// How the names of a file are read, found from all of them.
class LmdbNaming {
 public:
  /// `databases` are the names of the named databases that the values come from; empty for the main one.
  LmdbNaming(const LmdbListing& listing, std::span<const std::string> databases, bool numbered);
  LmdbName of(const LmdbListing::Value& value) const;

 private:
  enum class Rule {
    whole,      ///< the name is the key
    dotted,     ///< KEY.FIELD, at the first dot behind the last slash
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
