// Puts the pages of a listing together, and does not believe what they say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <formats/places/object_store.hpp>

namespace penstock {

/// One page, of any store.
struct ListedPage {
  std::vector<ListedObject> entries;
  std::string next;  ///< token or marker of the page behind it; empty: the last one
};

/// Whether something that lies in a folder may be called so: one part of a path, which is neither "." nor "..". Objects
/// with other keys are passed over: nothing can ask for them by a name in a folder.
bool is_name_in_folder(std::string_view name);

/// All pages of one folder.
class Listing {
 public:
  /// Most bytes of all pages together: some ten million objects.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
  /// Most pages in a row without an entry. Stores that skip what was removed give a few.
  static constexpr unsigned kMostEmptyPages = 1000;

  /// `bytes`: of the answer that the page stood in. Throws Error: corrupt, of a listing that does not end.
  void add(ListedPage page, std::size_t bytes);

  const std::string& next() const { return next_; }  ///< what the next page is asked for by; empty: there is none
  std::vector<ListedObject> in_order() &&;           ///< by name, each once

 private:
  std::vector<ListedObject> entries_;
  std::string next_;
  std::uint64_t bytes_ = 0;
  unsigned empty_pages_ = 0;
};

}  // namespace penstock
