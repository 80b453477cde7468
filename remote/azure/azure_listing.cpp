#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/base/error.hpp>
#include <remote/azure/azure_listing.hpp>
#include <remote/azure/azure_requests.hpp>
#include <remote/http/header_values.hpp>
#include <remote/text/xml.hpp>

namespace penstock {

ListedPage parse_azure_page(const std::string& body, const std::string& prefix) {
  const XmlElement root = parse_xml(body);
  const XmlElement* const blobs = root.child("Blobs");
  if (root.name != "EnumerationResults" || blobs == nullptr) throw Error::corrupt("the answer is no listing");
  const auto name_of = [&](const XmlElement& element) {
    const std::string name(element.text_of("Name"));
    if (!name.starts_with(prefix)) throw Error::corrupt("the listing has what was not asked for");
    return name.substr(prefix.size());
  };
  ListedPage page;
  for (const XmlElement& element : blobs->children) {
    if (element.name == "Blob") {
      std::string name = name_of(element);
      const XmlElement* const told = element.child("Properties");
      const auto size = told == nullptr ? std::nullopt : parse_digits(told->text_of("Content-Length"));
      if (!size) throw Error::corrupt("the listing has a blob without a size");
      if (!is_name_in_folder(name)) continue;
      // Quoted in headers, and in listings not.
      std::string etag(told->text_of("Etag"));
      if (!etag.empty() && !etag.starts_with('"')) etag = '"' + etag + '"';
      const auto modified = parse_http_date(told->text_of("Last-Modified"));
      page.entries.push_back(
          {std::move(name),
           false,
           {.size = *size, .version = std::move(etag), .modified = modified.value_or(0) * 1'000'000'000}});
    } else if (element.name == "BlobPrefix") {
      std::string name = name_of(element);
      while (name.ends_with('/')) name.pop_back();
      if (is_name_in_folder(name)) page.entries.push_back({std::move(name), true, {}});
    }
  }
  page.next = root.text_of("NextMarker");
  return page;
}

std::vector<ListedObject> list_container(AzureRequests& dialect, Transport& transport, const std::string& address,
                                         const std::string& folder) {
  const std::string prefix = folder.empty() ? "" : folder + "/";
  Listing all;
  do {
    Query query{{"restype", "container"}, {"comp", "list"}, {"delimiter", "/"}, {"prefix", prefix}};
    if (!all.next().empty()) query.emplace_back("marker", all.next());
    const HttpResponse answer = transport.send({.dialect = dialect, .address = address, .prepare = [&] {
                                                  return dialect.request(HttpMethod::get, address, true, query);
                                                }});
    if (dialect.meaning(answer) != Meaning::done) throw refusal(dialect, address, answer);
    try {
      all.add(parse_azure_page(answer.body, prefix), answer.body.size());
    } catch (const Error& error) {
      throw error.in({.dataset = address});
    }
  } while (!all.next().empty());
  return std::move(all).in_order();
}

}  // namespace penstock
