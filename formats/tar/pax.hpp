// Reads pax extended headers: records "LENGTH KEY=VALUE\n" that replace or add to what a tar header says.
// Source: POSIX.1-2017, pax, "pax Extended Header"; GNU tar 1.34 manual, "Storing Sparse Files".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// The changes of the records of one member, including the archive's preceding global records.
struct PaxRecords {
  std::optional<std::string> path = {}, link_path = {};
  std::optional<std::uint64_t> size = {};
  bool sparse = false;  ///< the data is a map and pieces instead of the file's bytes
};

/// Adds the records of `body`. Later records replace earlier ones, and an empty value removes a record. Throws Error:
/// corrupt (a record's length, form or number is wrong).
void read_pax(std::string_view body, PaxRecords& records);

/// Returns one record. Its length includes its own digits.
std::string pax_record(std::string_view key, std::string_view value);
/// Returns a comment of exactly `length` bytes (at least 12) as padding, which every reader skips.
std::string pax_comment(std::size_t length);

}  // namespace penstock
