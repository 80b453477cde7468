// Puts the pages of a listing together.
#pragma once

#include <string>
#include <vector>

#include <penstock/formats/places/object_store.hpp>

namespace penstock {

/// One page, of any store.
struct ListedPage {
  std::vector<ListedObject> entries;
  std::string next;  ///< token or marker of the page behind it; empty: the last one
};

/// All pages of one folder.
class Listing {
 public:
  /// Throws Error: corrupt, of a page that leads to itself.
  void add(ListedPage page);

  const std::string& next() const { return next_; }  ///< what the next page is asked for by; empty: there is none
  std::vector<ListedObject> in_order() &&;           ///< by name, each once

 private:
  std::vector<ListedObject> entries_;
  std::string next_;
};

}  // namespace penstock
