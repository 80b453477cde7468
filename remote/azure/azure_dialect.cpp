#include <cstdio>
#include <optional>
#include <random>
#include <utility>

#include <penstock/error.hpp>
#include <remote/azure/azure_address.hpp>
#include <remote/azure/azure_dialect.hpp>
#include <remote/http/header_values.hpp>
#include <remote/sign/digest.hpp>
#include <remote/text/xml.hpp>
#include <remote/writes/part_store.hpp>
#include <remote/writes/part_upload.hpp>

namespace penstock {
namespace {

std::string random_digits() {
  std::random_device random;
  char text[17];
  std::snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

/// Writes a blob whole or in blocks.
/// Sends every body with its MD5 if the system supports MD5. Abandoned blocks are invisible; Azure discards them after
/// a week and has no request to do it earlier.
class AzureBlocks : public PartStore {
 public:
  /// `dialect` and `transport` must outlive it.
  AzureBlocks(AzureRequests& dialect, Transport& transport, const std::string& address, bool if_absent);

  ObjectInfo put_whole(std::span<const std::byte> bytes) override;
  void begin() override;
  std::string put_part(unsigned number, std::span<const std::byte> bytes) override;
  ObjectInfo complete(const std::vector<std::string>& names, std::uint64_t size) override;
  void abandon() noexcept override {}

 private:
  HttpResponse put(const Query& query, std::span<const std::byte> body, const char* header, bool last);
  ObjectInfo written(const HttpResponse& answer, std::uint64_t size);

  AzureRequests& dialect_;
  Transport& transport_;
  const std::string address_;
  const bool if_absent_;
  const std::string own_;  // part of the names of blocks: others may write blocks of the same blob
};

AzureBlocks::AzureBlocks(AzureRequests& dialect, Transport& transport, const std::string& address, bool if_absent)
    : dialect_(dialect), transport_(transport), address_(address), if_absent_(if_absent), own_(random_digits()) {}

HttpResponse AzureBlocks::put(const Query& query, std::span<const std::byte> body, const char* header, bool last) {
  const std::string sum = base64(md5({reinterpret_cast<const char*>(body.data()), body.size()}));
  return transport_.send({.dialect = dialect_, .address = address_, .prepare = [&] {
                            HttpRequest asked = dialect_.request(HttpMethod::put, address_, false, query, body);
                            if (!sum.empty()) asked.headers.push_back("Content-MD5: " + sum);
                            if (header != nullptr) asked.headers.emplace_back(header);
                            if (last && if_absent_) asked.headers.emplace_back("If-None-Match: *");
                            return asked;
                          }});
}

ObjectInfo AzureBlocks::written(const HttpResponse& answer, std::uint64_t size) {
  const bool refused_since_there = answer.status == 409 || answer.status == 412;
  if (dialect_.meaning(answer) != Meaning::done && !(refused_since_there && if_absent_))
    throw refusal(dialect_, address_, answer);
  if (refused_since_there)
    throw Error(ErrorKind::io, "an object already exists at this address", {.dataset = address_});
  const HttpResponse found =
      transport_.send({.dialect = dialect_, .address = address_, .prepare = [&] { return dialect_.find(address_); }});
  if (dialect_.meaning(found) != Meaning::done) throw refusal(dialect_, address_, found);
  ObjectInfo info = dialect_.info(found);
  if (info.size != size)
    throw Error(ErrorKind::io, "the object does not exist after it was written", {.dataset = address_});
  return info;
}

ObjectInfo AzureBlocks::put_whole(std::span<const std::byte> bytes) {
  return written(put({}, bytes, "x-ms-blob-type: BlockBlob", true), bytes.size());
}

void AzureBlocks::begin() {}

std::string AzureBlocks::put_part(unsigned number, std::span<const std::byte> bytes) {
  char digits[7];
  std::snprintf(digits, sizeof digits, "%06u", number % 1'000'000U);
  std::string name = base64(own_ + digits);
  const HttpResponse answer = put({{"comp", "block"}, {"blockid", name}}, bytes, nullptr, false);
  if (dialect_.meaning(answer) != Meaning::done) throw refusal(dialect_, address_, answer);
  return name;
}

ObjectInfo AzureBlocks::complete(const std::vector<std::string>& names, std::uint64_t size) {
  std::string body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  for (const std::string& name : names) body += "<Latest>" + name + "</Latest>";
  body += "</BlockList>";
  return written(put({{"comp", "blocklist"}}, std::as_bytes(std::span(body)), nullptr, true), size);
}

}  // namespace

ListedPage parse_azure_page(const std::string& body, const std::string& prefix) {
  const XmlElement root = parse_xml(body);
  const XmlElement* const blobs = root.child("Blobs");
  if (root.name != "EnumerationResults" || blobs == nullptr) throw Error::corrupt("the answer is not a listing");
  const auto name_of = [&](const XmlElement& element) {
    const std::string name(element.text_of("Name"));
    if (!name.starts_with(prefix)) throw Error::corrupt("the store listed an object outside the requested prefix");
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
      // Headers quote ETags; listings do not.
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

std::vector<ListedObject> AzureDialect::list(Transport& transport, const std::string& folder) {
  return list_container(*this, transport, folder, azure_address(folder).blob);
}

std::unique_ptr<ObjectUpload> AzureDialect::upload(Transport& transport, const std::string& address, bool if_absent) {
  find(address);  // throws if it does not name a blob
  return std::make_unique<PartUpload>(std::make_unique<AzureBlocks>(*this, transport, address, if_absent));
}

void AzureDialect::remove(Transport& transport, const std::string& address) {
  const auto prepare = [&] { return request(HttpMethod::remove, address, false); };
  is_there(*this, address, transport.send({.dialect = *this, .address = address, .prepare = prepare}));
}

}  // namespace penstock
