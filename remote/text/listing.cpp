#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <penstock/base/error.hpp>
#include <penstock/remote/text/listing.hpp>

namespace penstock {

void Listing::add(ListedPage page) {
  if (!page.next.empty() && page.next == next_) throw Error::corrupt("the listing does not end");
  next_ = std::move(page.next);
  std::ranges::move(page.entries, std::back_inserter(entries_));
}

std::vector<ListedObject> Listing::in_order() && {
  const auto order = [](const ListedObject& object) {
    return std::pair<std::string_view, bool>(object.name, object.is_folder);
  };
  std::ranges::sort(entries_, {}, order);
  const auto twice = std::ranges::unique(entries_, {}, order);
  entries_.erase(twice.begin(), twice.end());
  return std::move(entries_);
}

}  // namespace penstock
