// Combines and validates the pages of a listing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <formats/places/object_store.hpp>

namespace penstock {

/// One page, from any store.
struct ListedPage {
  std::vector<ListedObject> entries;
  std::string next;  ///< token or marker of the following page; empty: the last page
};

/// Returns true if an object in a folder may have this name: one component of a path, except "." and "..". Objects with
/// other keys are skipped, because they cannot be requested by a name in a folder.
bool is_name_in_folder(std::string_view name);

/// All pages of one folder.
class Listing {
 public:
  /// Limit for all pages together: some ten million objects.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
  /// Limit for consecutive pages without entries. Stores that skip removed objects return a few of these.
  static constexpr unsigned kMostEmptyPages = 1000;

  /// `bytes` is the size of the answer that contained the page. Throws Error: corrupt, if the listing does not end.
  void add(ListedPage page, std::size_t bytes);

  const std::string& next() const { return next_; }  ///< requests the next page; empty: there are no more
  std::vector<ListedObject> in_order() &&;           ///< sorted by name, without duplicates

 private:
  std::vector<ListedObject> entries_;
  std::string next_;
  std::uint64_t bytes_ = 0;
  unsigned empty_pages_ = 0;
};

}  // namespace penstock
