#include <algorithm>
#include <iterator>
#include <utility>

#include <penstock/error.hpp>
#include <remote/text/listing.hpp>

namespace penstock {

bool is_name_in_folder(std::string_view name) {
  using std::string_view_literals::operator""sv;
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/\0"sv) == std::string_view::npos;
}

void Listing::add(ListedPage page, std::size_t bytes) {
  bytes_ += bytes;
  empty_pages_ = page.entries.empty() ? empty_pages_ + 1 : 0;
  const bool again = !page.next.empty() && page.next == next_;
  if (again || bytes_ > kMostBytes || empty_pages_ > kMostEmptyPages) throw Error::corrupt("the listing does not end");
  next_ = std::move(page.next);
  std::ranges::move(page.entries, std::back_inserter(entries_));
}

std::vector<ListedObject> Listing::in_order() && {
  const auto order = [](const ListedObject& object) {
    return std::pair<std::string_view, bool>(object.name, object.is_folder);
  };
  std::ranges::sort(entries_, {}, order);
  // Not std::ranges::unique: clang 14, which builds the fuzzer, cannot parse its subrange in libstdc++.
  const auto same = [&](const ListedObject& a, const ListedObject& b) { return order(a) == order(b); };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  return std::move(entries_);
}

}  // namespace penstock
