#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <base/caught.hpp>
#include <base/printable.hpp>
#include <penstock/base/error.hpp>
#include <remote/s3/bucket_parts.hpp>
#include <remote/s3/bucket_requests.hpp>
#include <remote/s3/store_error.hpp>
#include <remote/sign/digest.hpp>
#include <remote/text/xml.hpp>

namespace penstock {
namespace {

constexpr int kCompletions = 5;  // a completion may fail inside of an answer that says 200

std::string_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Behind "-" in the ETag of an object of parts.
bool has_parts(std::string_view etag, std::size_t parts) {
  return etag.ends_with("-" + std::to_string(parts) + "\"");
}

}  // namespace

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
  // Some stores have no conditions on writes (Swift): there it has been looked for a moment before, and that is all.
  if (conditional && answer.status == kNotImplemented) return send(method, query, body, false);
  return answer;
}

std::optional<ObjectInfo> BucketParts::find() {
  const HttpResponse answer =
      transport_.send({.dialect = dialect_, .address = address_, .prepare = [&] { return dialect_.find(address_); }});
  const Meaning what = dialect_.meaning(answer);
  if (what == Meaning::absent) return std::nullopt;
  if (what != Meaning::done) throw refusal(dialect_, address_, answer);
  return dialect_.info(answer);
}

Error BucketParts::exists() const {
  return {ErrorKind::io, "an object is there already", {.dataset = address_}};
}

void BucketParts::require_absent() {
  if (if_absent_ && find()) throw exists();
}

ObjectInfo BucketParts::put_whole(std::span<const std::byte> bytes) {
  require_absent();
  const HttpResponse answer = send(HttpMethod::put, {}, bytes, if_absent_);
  const std::string etag = "\"" + hexadecimal(md5(view_of(bytes))) + "\"";
  if (answer.status == 412 || answer.status == 409) {
    // A request that was sent again because its answer was lost meets what it wrote itself.
    const auto there = find();
    if (there && there->size == bytes.size() && there->version == etag) return *there;
    if (if_absent_ && answer.status == 412) throw exists();
  }
  if (dialect_.meaning(answer) != Meaning::done) throw refusal(dialect_, address_, answer);
  const auto there = find();
  if (!there || there->size != bytes.size())
    throw Error(ErrorKind::io, "the object is not there after it was written", {.dataset = address_});
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
  if (upload_.empty()) throw Error::corrupt("the store gave the upload no name", {.dataset = address_});
}

std::string BucketParts::put_part(unsigned number, std::span<const std::byte> bytes) {
  const HttpResponse answer =
      send(HttpMethod::put, {{"partNumber", std::to_string(number)}, {"uploadId", upload_}}, bytes);
  if (dialect_.meaning(answer) != Meaning::done) throw refusal(dialect_, address_, answer);
  std::string etag(answer.header("etag"));
  if (etag.empty()) throw Error::corrupt("the store gave a part no ETag", {.dataset = address_});
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
    answer.status = 500;  // and again: said with a 200, since the store had begun to answer
  }
  const auto there = find();
  // An answer that was lost: the upload is gone since it is complete.
  const bool was_complete = answer.status == 404 || answer.status == 412;
  if (was_complete && there && there->size == size && has_parts(there->version, names.size())) return *there;
  if (answer.status == 412) throw exists();
  if (answer.status < 200 || answer.status >= 300) throw refusal(dialect_, address_, answer);
  if (!there || there->size != size)
    throw Error(ErrorKind::io, "the object is not there after it was written", {.dataset = address_});
  return *there;
}

void BucketParts::abandon() noexcept {
  // What cannot be asked for is left to the bucket's rule for uploads that nobody ended.
  static_cast<void>(caught([&] { send(HttpMethod::remove, {{"uploadId", upload_}}, {}); }));
}

}  // namespace penstock
