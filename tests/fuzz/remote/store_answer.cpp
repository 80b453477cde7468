#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <penstock/error.hpp>
#include <remote/azure/azure_dialect.hpp>
#include <remote/gcs/google_service.hpp>
#include <remote/http/engine/answer_check.hpp>
#include <remote/http/header_values.hpp>
#include <remote/http/retry_after.hpp>
#include <remote/s3/aws_service.hpp>
#include <remote/s3/bucket_dialect.hpp>
#include <remote/web/web_dialect.hpp>

#include "fuzz/remote/answer.hpp"
#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

constexpr const char* kSecret = "fuzz/secret+of/the=key";

struct Spoken {
  std::unique_ptr<Dialect> dialect;
  std::string address, begins;  // what an address of its requests begins with
};

HttpResponse nobody(const std::string&, const HttpRequest&, std::chrono::milliseconds, unsigned) {
  throw Error(ErrorKind::io, "nobody is asked");
}

// Of every kind of store, each with a secret: of the environment, and for a web server of its address.
std::vector<Spoken> dialects() {
  for (const char* const name : {"AWS_ACCESS_KEY_ID", "GCS_KEY"}) ::setenv(name, "KEY", 1);
  for (const char* const name : {"AWS_SECRET_ACCESS_KEY", "GCS_SECRET"}) ::setenv(name, kSecret, 1);
  ::setenv("AZURE_STORAGE_SAS_TOKEN", (std::string("sig=") + kSecret).c_str(), 1);
  ::setenv("AWS_CONFIG_FILE", "/dev/null", 1);
  std::vector<Spoken> all;
  all.push_back({std::make_unique<BucketDialect>(std::make_unique<AwsService>(nobody)), "s3://bucket/key", "https://"});
  all.push_back({std::make_unique<BucketDialect>(std::make_unique<GoogleService>(nobody)), "gs://bucket/key",
                 "https://storage.googleapis.com/"});
  all.push_back(
      {std::make_unique<AzureDialect>(), "az://container@account/blob", "https://account.blob.core.windows.net/"});
  all.push_back({std::make_unique<WebDialect>(), "https://host/folder/key", "https://host/folder/key"});
  for (const Spoken& one : all) {
    if (one.dialect->stale(one.address)) one.dialect->renew(one.address);
  }
  all.back().dialect->admit(std::string("https://host/folder/key?sig=") + kSecret);
  return all;
}

void look_at(const Spoken& spoken, const HttpResponse& answer) {
  Dialect& dialect = *spoken.dialect;
  const Meaning meaning = dialect.meaning(answer);
  const std::string said = said_by_server(dialect, answer);
  require(said.size() < 1000, "a server's reason that is no short line");
  require(refusal(dialect, spoken.address, answer).cause().find(kSecret) == std::string::npos,
          "an error with a secret");
  if (meaning == Meaning::anew) dialect.learn(spoken.address, answer);
  const ObjectInfo info = dialect.info(answer);
  require(info.size >> 63U == 0 && info.modified >= 0, "an object of a length or a time that cannot be");
  // What was asked keys for by nobody is asked for without.
  const HttpRequest request = dialect.read_range({.address = spoken.address, .info = info}, 5, 10);
  require_one_request(request);
  require(request.url.starts_with(spoken.begins), "a request that goes to another server");
  if (spoken.address.starts_with("s3:")) {
    const std::string host = request.url.substr(8, request.url.find('/', 8) - 8);
    require(host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn"), "keys that go to another server");
  }
}

// An answer that is called right is of the bytes that were asked for, as it tells.
void check_range(const Dialect& dialect, const HttpResponse& answer) {
  constexpr std::uint64_t kSize = 1000, kOffset = 100, kLength = 50;
  const StoredObject object{.address = "https://host/key", .info = {.size = kSize, .version = "\"v\""}};
  const AnswerCheck check = check_answer(dialect, object, kOffset, kLength, answer);
  using Verdict = AnswerCheck::Verdict;
  if (check.verdict != Verdict::right && check.verdict != Verdict::whole) {
    require(!check.text.empty(), "an answer is refused and nobody is told why");
    return;
  }
  const std::string_view encoding = answer.header("content-encoding"), etag = answer.header("etag");
  require(encoding.empty() || encoding == "identity", "encoded bytes are taken for the object's");
  require(etag.empty() || etag == "\"v\"", "bytes of another version are taken");
  const auto length = parse_digits(answer.header("content-length"));
  if (check.verdict == Verdict::whole) {
    require(answer.status == 200 && (!length || *length == kSize), "a part is taken for the whole");
    return;
  }
  const auto range = parse_content_range(answer.header("content-range"));
  require(range && range->first == kOffset && range->last == kOffset + kLength - 1, "other bytes are taken");
  require(range->size.value_or(kSize) == kSize && (!length || *length == kLength), "another object's bytes are taken");
}

}  // namespace

void store_answer(Input input) {
  static const std::vector<Spoken> all = dialects();
  const HttpResponse answer = answer_of(input);
  const auto wait = retry_after(answer);
  require(wait.count() >= 0 && wait <= std::chrono::minutes(1), "a server is waited for too long");
  for (const Spoken& one : all) look_at(one, answer);
  if (answer.status == 200 || answer.status == 206) check_range(*all.back().dialect, answer);
}

}  // namespace penstock::fuzz
