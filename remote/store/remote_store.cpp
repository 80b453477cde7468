#include <algorithm>
#include <cstring>
#include <utility>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <remote/azure/azure_dialect.hpp>
#include <remote/credentials/key_requests.hpp>
#include <remote/gcs/google_service.hpp>
#include <remote/http/engine/trust.hpp>
#include <remote/http/header_values.hpp>
#include <remote/s3/aws_service.hpp>
#include <remote/s3/bucket_dialect.hpp>
#include <remote/store/remote_store.hpp>
#include <remote/web/web_dialect.hpp>

namespace penstock {
namespace {

// `transport` sends the dialects' own requests (for credentials), and must outlive them.
std::vector<std::unique_ptr<Dialect>> make_dialects(Transport& transport) {
  const KeyRequest ask = key_requests(transport);
  std::vector<std::unique_ptr<Dialect>> dialects;
  dialects.push_back(std::make_unique<BucketDialect>(std::make_unique<AwsService>(ask)));
  dialects.push_back(std::make_unique<BucketDialect>(std::make_unique<GoogleService>(ask)));
  dialects.push_back(std::make_unique<AzureDialect>());
  dialects.push_back(std::make_unique<WebDialect>());
  return dialects;
}

Dialect& dialect_among(const std::vector<std::unique_ptr<Dialect>>& dialects, const std::string& address) {
  const auto found = std::ranges::find_if(dialects, [&](const auto& dialect) { return dialect->speaks(address); });
  if (found == dialects.end())
    throw Error::invalid_argument("is not an address of a store that penstock supports",
                                  {.dataset = one_line(address.substr(0, address.find_first_of("@?#")))});
  return **found;
}

// Returns true if an answer to HEAD, or to GET for one byte, contains the length of the object.
bool tells_size(const HttpResponse& response) {
  const auto range = parse_content_range(response.header("content-range"));
  return response.status == 206 ? range && range->size : parse_digits(response.header("content-length")).has_value();
}

// A body that ends by closing the connection may be truncated, so it is rejected.
bool tells_end(const HttpResponse& response) {
  return !response.header("content-length").empty() || lower_case(response.header("transfer-encoding")) == "chunked";
}

}  // namespace

struct RemoteStore::Made {
  Transport transport;
  std::vector<std::unique_ptr<Dialect>> dialects = make_dialects(transport);
};

RemoteStore::RemoteStore() = default;

RemoteStore::~RemoteStore() {
  delete made_.load();
}

RemoteStore::Made& RemoteStore::made() {
  if (Made* const there = made_.load()) return *there;
  auto fresh = std::make_unique<Made>();
  {
    const std::scoped_lock lock(mutex_);
    for (const std::string& address : admitted_) dialect_among(fresh->dialects, address).admit(address);
  }
  Made* first = nullptr;
  return made_.compare_exchange_strong(first, fresh.get()) ? *fresh.release() : *first;
}

Dialect& RemoteStore::dialect_of(const std::string& address) {
  return dialect_among(made().dialects, address);
}

std::string RemoteStore::admit(const std::string& address) {
  std::string clean = dialect_of(address).admit(address);
  if (clean != address) {
    const std::scoped_lock lock(mutex_);
    if (std::ranges::find(admitted_, address) == admitted_.end()) admitted_.push_back(address);
  }
  return clean;
}

std::optional<ObjectInfo> RemoteStore::find(const std::string& given) {
  const std::string address = admit(given);
  Dialect& dialect = dialect_of(address);
  HttpResponse response =
      made().transport.send({.dialect = dialect, .address = address, .prepare = [&] { return dialect.find(address); }});
  constexpr int kForbidden = 403, kNotAllowed = 405, kNotImplemented = 501;
  const bool silent = dialect.meaning(response) == Meaning::done && !tells_size(response);
  if (silent || response.status == kForbidden || response.status == kNotAllowed || response.status == kNotImplemented) {
    // The address may be signed for GET, or the server's HEAD may be incomplete. The headers of the first byte contain
    // more.
    const StoredObject any{.address = address, .info = {}};
    const std::uint64_t most = 1U << 20;
    response = made().transport.send({.dialect = dialect,
                                      .address = address,
                                      .prepare = [&] { return dialect.read_range(any, 0, 1); },
                                      .most_bytes = most});
    if (dialect.meaning(response) == Meaning::outside) {  // an empty object has no first byte
      ObjectInfo empty = dialect.info(response);
      empty.size = 0;
      return empty;
    }
  }
  if (!is_there(dialect, address, response)) return std::nullopt;
  if (!tells_size(response))
    throw Error::unsupported("the server does not report the object's length", {.dataset = address});
  return dialect.info(response);
}

std::optional<std::vector<std::byte>> RemoteStore::read_whole(const std::string& given, ObjectInfo& info,
                                                              std::uint64_t most) {
  const std::string address = admit(given);
  Dialect& dialect = dialect_of(address);
  constexpr std::uint64_t kRoomForReasons = 64U << 10;
  const HttpResponse response = made().transport.send({.dialect = dialect,
                                                       .address = address,
                                                       .prepare = [&] { return dialect.read_whole(address); },
                                                       .most_bytes = std::max(most, kRoomForReasons)});
  if (!is_there(dialect, address, response)) return std::nullopt;
  if (response.body.size() > most)
    throw Error::resource("has more than " + with_commas(most) + " bytes", {.dataset = address});
  const std::string_view encoding = response.header("content-encoding");
  if (!encoding.empty() && encoding != "identity")
    throw Error::unsupported(
        "the server sends it with Content-Encoding " + double_quoted(encoding) + " instead of its unchanged bytes",
        {.dataset = address});
  if (response.status != 200)
    throw Error(ErrorKind::io, said_by_server(dialect, response) + ", although the whole object was requested",
                {.dataset = address});
  if (!tells_end(response))
    throw Error::unsupported("the server does not report the length of its answer", {.dataset = address});
  info = dialect.info(response);
  info.size = response.body.size();
  std::vector<std::byte> bytes(response.body.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), response.body.data(), bytes.size());
  return bytes;
}

std::vector<ListedObject> RemoteStore::list(const std::string& given) {
  const std::string folder = admit(given);
  return dialect_of(folder).list(made().transport, folder);
}

std::unique_ptr<RangeReader> RemoteStore::reader(OnRange on_range) {
  return made().transport.reader(
      [dialects = &made().dialects](const std::string& address) -> Dialect& {
        return dialect_among(*dialects, address);
      },
      std::move(on_range));
}

std::unique_ptr<ObjectUpload> RemoteStore::upload(const std::string& given, bool if_absent) {
  const std::string address = admit(given);
  return dialect_of(address).upload(made().transport, address, if_absent);
}

void RemoteStore::remove(const std::string& given) {
  const std::string address = admit(given);
  dialect_of(address).remove(made().transport, address);
}

StoreCounts RemoteStore::counts() const {
  const Made* const there = made_.load();
  return there != nullptr ? there->transport.counts() : StoreCounts{};
}

std::string RemoteStore::about() const {
  const Trust trust = find_trust();
  const std::string& certificates = trust.file.empty() ? trust.folder : trust.file;
  return http_library() + "; certificates " + (certificates.empty() ? "by libcurl's default" : "of " + certificates);
}

std::string RemoteStore::access(const std::string& given) {
  const std::string address = admit(given);
  Dialect& dialect = dialect_of(address);
  if (dialect.stale(address)) dialect.renew(address);
  return dialect.access(address);
}

void RemoteStore::end() noexcept {
  if (Made* const there = made_.load()) there->transport.end();
}

void RemoteStore::begin_child() noexcept {
  made_ = nullptr;  // leaked: its threads exist only in the parent
}

void RemoteStore::hold_for_fork() noexcept {
  mutex_.lock();
}

void RemoteStore::let_go() noexcept {
  mutex_.unlock();
}

}  // namespace penstock
