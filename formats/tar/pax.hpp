// Reads pax extended headers: records "LENGTH KEY=VALUE\n" that replace or add to what a tar header says.
// Source: POSIX.1-2017, pax, "pax Extended Header"; GNU tar 1.34 manual, "Storing Sparse Files".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// What the records of one member, and the archive's global ones before them, change.
struct PaxRecords {
  std::optional<std::string> path = {}, link_path = {};
  std::optional<std::uint64_t> size = {};
  bool sparse = false;  ///< the data is a map and pieces, not the file's bytes
};

/// Adds the records of `body`; later ones replace earlier ones, an empty value takes a record back.
/// Throws Error: corrupt (a record's length, form or number is wrong).
void read_pax(std::string_view body, PaxRecords& records);

/// One record; its length counts its own digits.
std::string pax_record(std::string_view key, std::string_view value);
/// A comment of exactly `length` bytes (at least 12), which every reader skips: padding.
std::string pax_comment(std::size_t length);

}  // namespace penstock
