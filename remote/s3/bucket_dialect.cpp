#include <optional>
#include <string_view>
#include <utility>

#include <base/caught.hpp>
#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <remote/http/header_values.hpp>
#include <remote/s3/bucket_dialect.hpp>
#include <remote/s3/store_error.hpp>
#include <remote/sign/digest.hpp>
#include <remote/text/times.hpp>
#include <remote/text/xml.hpp>
#include <remote/writes/part_store.hpp>
#include <remote/writes/part_upload.hpp>

namespace penstock {
namespace {

int value_of_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Decodes a key of a listing with encoding-type=url: %XX, and "+" for a space.
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

constexpr int kCompletions = 5;  // a completion may fail although its answer has status 200

std::string_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The ETag of a multipart object ends with "-" and the number of parts.
bool has_parts(std::string_view etag, std::size_t parts) {
  return etag.ends_with("-" + std::to_string(parts) + "\"");
}

/// Writes an object whole, or by S3's multipart upload.
/// Sends every body with its signed SHA-256, so that a store rejects data damaged in transit.
/// `if_absent`: checks before the write and, on stores that support it, by a condition on the last request.
class BucketParts : public PartStore {
 public:
  /// `dialect` and `transport` must outlive it.
  BucketParts(BucketRequests& dialect, Transport& transport, const std::string& address, bool if_absent);

  ObjectInfo put_whole(std::span<const std::byte> bytes) override;
  void begin() override;
  std::string put_part(unsigned number, std::span<const std::byte> bytes) override;
  ObjectInfo complete(const std::vector<std::string>& names, std::uint64_t size) override;
  void abandon() noexcept override;

 private:
  HttpResponse send(HttpMethod method, const Query& query, std::span<const std::byte> body, bool conditional = false);
  std::optional<ObjectInfo> find();
  void require_absent();
  Error exists() const;

  BucketRequests& dialect_;
  Transport& transport_;
  const std::string address_;
  const BucketAddress parts_;
  const bool if_absent_;
  std::string upload_;  // the store's id of the upload
};

BucketParts::BucketParts(BucketRequests& dialect, Transport& transport, const std::string& address, bool if_absent)
    : dialect_(dialect),
      transport_(transport),
      address_(address),
      parts_(object_address(dialect.service().scheme(), address)),
      if_absent_(if_absent) {}

HttpResponse BucketParts::send(HttpMethod method, const Query& query, std::span<const std::byte> body,
                               bool conditional) {
  constexpr int kNotImplemented = 501;
  const std::string hash = hexadecimal(sha256(view_of(body)));
  const auto prepare = [&] {
    HttpRequest asked = dialect_.request(method, parts_.bucket, parts_.key, query, body, hash);
    if (conditional) asked.headers.push_back(dialect_.service().only_if_absent());
    return asked;
  };
  HttpResponse answer = transport_.send({.dialect = dialect_, .address = address_, .prepare = prepare});
  // Some stores have no conditional writes (Swift). On those only the check before the write applies.
  if (conditional && answer.status == kNotImplemented) return send(method, query, body, false);
  return answer;
}

std::optional<ObjectInfo> BucketParts::find() {
  const HttpResponse answer =
      transport_.send({.dialect = dialect_, .address = address_, .prepare = [&] { return dialect_.find(address_); }});
  return is_there(dialect_, address_, answer) ? std::optional(dialect_.info(answer)) : std::nullopt;
}

Error BucketParts::exists() const {
  return {ErrorKind::io, "an object already exists at this address", {.dataset = address_}};
}

void BucketParts::require_absent() {
  if (if_absent_ && find()) throw exists();
}

ObjectInfo BucketParts::put_whole(std::span<const std::byte> bytes) {
  require_absent();
  const HttpResponse answer = send(HttpMethod::put, {}, bytes, if_absent_);
  const std::string etag = "\"" + hexadecimal(md5(view_of(bytes))) + "\"";
  if (answer.status == 412 || answer.status == 409) {
    // If the answer of the first request was lost, its repetition finds the object already written.
    const auto there = find();
    if (there && there->size == bytes.size() && there->version == etag) return *there;
    if (if_absent_ && answer.status == 412) throw exists();
  }
  if (dialect_.meaning(answer) != Meaning::done) throw refusal(dialect_, address_, answer);
  const auto there = find();
  if (!there || there->size != bytes.size())
    throw Error(ErrorKind::io, "the object does not exist after it was written", {.dataset = address_});
  return *there;
}

void BucketParts::begin() {
  require_absent();
  const HttpResponse answer = send(HttpMethod::post, {{"uploads", ""}}, {});
  if (dialect_.meaning(answer) != Meaning::done) throw refusal(dialect_, address_, answer);
  try {
    upload_ = parse_xml(answer.body).text_of("UploadId");
  } catch (const Error& error) {
    throw error.in({.dataset = address_});
  }
  if (upload_.empty()) throw Error::corrupt("the store returned no ID of the upload", {.dataset = address_});
}

std::string BucketParts::put_part(unsigned number, std::span<const std::byte> bytes) {
  const HttpResponse answer =
      send(HttpMethod::put, {{"partNumber", std::to_string(number)}, {"uploadId", upload_}}, bytes);
  if (dialect_.meaning(answer) != Meaning::done) throw refusal(dialect_, address_, answer);
  std::string etag(answer.header("etag"));
  if (etag.empty()) throw Error::corrupt("the store returned no ETag of a part", {.dataset = address_});
  return etag;
}

ObjectInfo BucketParts::complete(const std::vector<std::string>& names, std::uint64_t size) {
  std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < names.size(); ++i)
    body +=
        "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" + xml_escaped(names[i]) + "</ETag></Part>";
  body += "</CompleteMultipartUpload>";
  require_absent();
  HttpResponse answer;
  for (int i = 0; i < kCompletions; ++i) {
    answer = send(HttpMethod::post, {{"uploadId", upload_}}, std::as_bytes(std::span(body)), if_absent_);
    if (answer.status != 200) break;
    const StoreError error = store_error(answer.body);
    if (error.code.empty()) break;
    answer.status = 500;  // retry: the store sent status 200 before it knew the result
  }
  const auto there = find();
  // If the answer was lost, the upload no longer exists because it is complete.
  const bool was_complete = answer.status == 404 || answer.status == 412;
  if (was_complete && there && there->size == size && has_parts(there->version, names.size())) return *there;
  if (answer.status == 412) throw exists();
  if (answer.status < 200 || answer.status >= 300) throw refusal(dialect_, address_, answer);
  if (!there || there->size != size)
    throw Error(ErrorKind::io, "the object does not exist after it was written", {.dataset = address_});
  return *there;
}

void BucketParts::abandon() noexcept {
  // If this fails, the bucket's rule for incomplete uploads removes it.
  static_cast<void>(caught([&] { send(HttpMethod::remove, {{"uploadId", upload_}}, {}); }));
}

}  // namespace

ListedPage parse_listed_page(const std::string& body, const std::string& prefix) {
  const XmlElement root = parse_xml(body);
  if (root.name != "ListBucketResult") throw Error::corrupt("the answer is not a listing");
  const bool encoded = root.text_of("EncodingType") == "url";
  // Returns the name in the folder. Empty for the folder itself, and for a name that cannot be requested.
  const auto name_of = [&](std::string_view text) -> std::string {
    std::string key = encoded ? decoded_key(text) : std::string(text);
    if (!key.starts_with(prefix)) throw Error::corrupt("the store listed an object outside the requested prefix");
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
    if (page.next.empty()) throw Error::corrupt("the listing is incomplete, but has no token for the next page");
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

std::vector<ListedObject> BucketDialect::list(Transport& transport, const std::string& folder) {
  const BucketAddress parts = bucket_address(service().scheme(), folder);
  return list_bucket(*this, transport, folder, parts);
}

std::unique_ptr<ObjectUpload> BucketDialect::upload(Transport& transport, const std::string& address, bool if_absent) {
  return std::make_unique<PartUpload>(std::make_unique<BucketParts>(*this, transport, address, if_absent));
}

void BucketDialect::remove(Transport& transport, const std::string& address) {
  const BucketAddress parts = object_address(service().scheme(), address);
  const auto prepare = [&] { return request(HttpMethod::remove, parts.bucket, parts.key); };
  is_there(*this, address, transport.send({.dialect = *this, .address = address, .prepare = prepare}));
}

}  // namespace penstock
