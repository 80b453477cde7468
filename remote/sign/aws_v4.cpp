#include <algorithm>
#include <array>
#include <ctime>

#include <base/printable.hpp>
#include <remote/sign/aws_v4.hpp>
#include <remote/sign/digest.hpp>

namespace penstock {
namespace {

// Removes outer blanks, and replaces runs of blanks with one.
std::string trimmed_value(std::string_view value) {
  std::string trimmed;
  bool blank = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      blank = !trimmed.empty();
      continue;
    }
    if (blank) trimmed += ' ';
    blank = false;
    trimmed += c;
  }
  return trimmed;
}

}  // namespace

std::string amz_time(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc);
  return {text.data(), length};
}

AwsSigner::AwsSigner(AwsKeys keys, std::string region, std::string service)
    : keys_(std::move(keys)), region_(std::move(region)), service_(std::move(service)) {}

SignedHeaders AwsSigner::sign(const SigningRequest& request, std::chrono::system_clock::time_point when) {
  const std::string time = amz_time(when);
  const std::string day = time.substr(0, 8);
  SignedHeaders added{{"x-amz-date", time}};
  if (!keys_.token.empty()) added.emplace_back("x-amz-security-token", keys_.token);

  SignedHeaders headers = request.headers;
  headers.emplace_back("host", request.host);
  headers.insert(headers.end(), added.begin(), added.end());
  // stable: values with the same name keep their order
  std::ranges::stable_sort(headers, {}, &std::pair<std::string, std::string>::first);
  std::string lines;
  std::string names;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto& [name, value] = headers[i];
    if (i > 0 && headers[i - 1].first == name) {
      lines.back() = ',';
    } else {
      lines += name + ":";
      names += (names.empty() ? "" : ";") + name;
    }
    lines += trimmed_value(value) + "\n";
  }

  std::string canonical;
  canonical.append(request.method).append("\n").append(request.path).append("\n").append(request.query).append("\n");
  canonical.append(lines).append("\n").append(names).append("\n").append(request.payload_hash);

  const std::string scope = day + "/" + region_ + "/" + service_ + "/aws4_request";
  const std::string to_sign = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + hexadecimal(sha256(canonical));
  if (day != day_) {
    signing_key_ = hmac_sha256(hmac_sha256(hmac_sha256(hmac_sha256("AWS4" + keys_.secret, day), region_), service_),
                               "aws4_request");
    day_ = day;
  }
  added.emplace_back("authorization", "AWS4-HMAC-SHA256 Credential=" + keys_.id + "/" + scope + ", SignedHeaders=" +
                                          names + ", Signature=" + hexadecimal(hmac_sha256(signing_key_, to_sign)));
  return added;
}

}  // namespace penstock
