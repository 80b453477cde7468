#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <base/printable.hpp>
#include <penstock/base/error.hpp>
#include <remote/azure/azure_blocks.hpp>
#include <remote/azure/azure_requests.hpp>
#include <remote/sign/digest.hpp>

namespace penstock {
namespace {

std::string random_digits() {
  std::random_device random;
  char text[17];
  std::snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

}  // namespace

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
  if (refused_since_there) throw Error(ErrorKind::io, "an object is there already", {.dataset = address_});
  const HttpResponse found =
      transport_.send({.dialect = dialect_, .address = address_, .prepare = [&] { return dialect_.find(address_); }});
  if (dialect_.meaning(found) != Meaning::done) throw refusal(dialect_, address_, found);
  ObjectInfo info = dialect_.info(found);
  if (info.size != size)
    throw Error(ErrorKind::io, "the object is not there after it was written", {.dataset = address_});
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

}  // namespace penstock
