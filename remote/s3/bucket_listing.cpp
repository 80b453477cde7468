#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/base/error.hpp>
#include <remote/http/header_values.hpp>
#include <remote/s3/bucket_listing.hpp>
#include <remote/s3/bucket_requests.hpp>
#include <remote/text/times.hpp>
#include <remote/text/xml.hpp>

namespace penstock {
namespace {

int value_of_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// As encoding-type=url has keys: %XX, and "+" for a space.
std::string decoded_key(std::string_view text) {
  std::string key;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      key += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() && value_of_digit(text[i + 1]) >= 0 &&
               value_of_digit(text[i + 2]) >= 0) {
      key += static_cast<char>(value_of_digit(text[i + 1]) * 16 + value_of_digit(text[i + 2]));
      i += 2;
    } else {
      key += text[i];
    }
  }
  return key;
}

}  // namespace

ListedPage parse_listed_page(const std::string& body, const std::string& prefix) {
  const XmlElement root = parse_xml(body);
  if (root.name != "ListBucketResult") throw Error::corrupt("the answer is no listing");
  const bool encoded = root.text_of("EncodingType") == "url";
  // The name in the folder; empty: the folder itself, or a name that nothing can be asked by.
  const auto name_of = [&](std::string_view text) -> std::string {
    std::string key = encoded ? decoded_key(text) : std::string(text);
    if (!key.starts_with(prefix)) throw Error::corrupt("the listing has what was not asked for");
    return key.substr(prefix.size());
  };
  ListedPage page;
  for (const XmlElement& element : root.children) {
    if (element.name == "Contents") {
      std::string name = name_of(element.text_of("Key"));
      const auto size = parse_digits(element.text_of("Size"));
      if (!size) throw Error::corrupt("the listing has an object without a size");
      if (!is_name_in_folder(name)) continue;
      page.entries.push_back({std::move(name),
                              false,
                              {.size = *size,
                               .version = std::string(element.text_of("ETag")),
                               .modified = nanoseconds_of(iso_time(element.text_of("LastModified")))}});
    } else if (element.name == "CommonPrefixes") {
      std::string name = name_of(element.text_of("Prefix"));
      while (name.ends_with('/')) name.pop_back();
      if (is_name_in_folder(name)) page.entries.push_back({std::move(name), true, {}});
    }
  }
  if (root.text_of("IsTruncated") == "true") {
    page.next = root.text_of("NextContinuationToken");
    if (page.next.empty()) throw Error::corrupt("the listing goes on, and does not say where");
  }
  return page;
}

std::vector<ListedObject> list_bucket(BucketRequests& dialect, Transport& transport, const std::string& folder,
                                      const BucketAddress& parts) {
  const std::string prefix = parts.key.empty() ? "" : parts.key + "/";
  const Query query{{"list-type", "2"}, {"prefix", prefix}, {"delimiter", "/"}, {"encoding-type", "url"}};
  Listing all;
  do {
    Query asked = query;
    if (!all.next().empty()) asked.emplace_back("continuation-token", all.next());
    const HttpResponse answer = transport.send({.dialect = dialect, .address = folder, .prepare = [&] {
                                                  return dialect.request(HttpMethod::get, parts.bucket, "", asked);
                                                }});
    if (dialect.meaning(answer) != Meaning::done) throw refusal(dialect, folder, answer);
    try {
      all.add(parse_listed_page(answer.body, prefix), answer.body.size());
    } catch (const Error& error) {
      throw error.in({.dataset = folder});
    }
  } while (!all.next().empty());
  return std::move(all).in_order();
}

}  // namespace penstock
