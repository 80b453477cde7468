#include <string>
#include <utility>

#include <penstock/error.hpp>
#include <remote/azure/azure_dialect.hpp>
#include <remote/s3/bucket_dialect.hpp>
#include <remote/text/listing.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

void require_inside(const ListedObject& object) {
  const std::string& name = object.name;
  require(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
              name.find('\0') == std::string::npos,
          "a listing has a name that lies outside of its folder");
  require(object.info.size >> 63U == 0, "a listing has an object of a length that no offset reaches");
  require(object.info.modified >= 0, "a listing has a time before 1970");
}

}  // namespace

// The first byte chooses the store and the folder that was asked for.
void listing(Input input) {
  if (input.empty()) return;
  const auto kind = std::to_integer<unsigned>(input[0]);
  const std::string body(text_of(input.subspan(1))), prefix = kind % 4 < 2 ? "p/" : "";
  ListedPage page = kind % 2 == 0 ? parse_listed_page(body, prefix) : parse_azure_page(body, prefix);
  for (const ListedObject& object : page.entries) require_inside(object);
  Listing all;
  const std::string next = page.next;
  all.add(std::move(page), body.size());
  require(all.next() == next, "a listing goes on elsewhere than its page says");
  if (!next.empty()) {
    bool ends = false;
    try {
      all.add({.entries = {}, .next = next}, body.size());
    } catch (const Error&) {
      ends = true;
    }
    require(ends, "a page that leads to itself is asked for again");
  }
  const std::vector<ListedObject> objects = std::move(all).in_order();
  for (std::size_t i = 1; i < objects.size(); ++i) {
    const auto before = std::pair(objects[i - 1].name, objects[i - 1].is_folder),
               after = std::pair(objects[i].name, objects[i].is_folder);
    require(before < after, "a listing is not in order, or has a name twice");
  }
}

}  // namespace penstock::fuzz
