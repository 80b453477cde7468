#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <remote/credentials/aws_answers.hpp>
#include <remote/credentials/aws_chain.hpp>
#include <remote/credentials/google_token.hpp>
#include <remote/s3/store_error.hpp>

#include "fuzz/remote/answer.hpp"
#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

// Services that answer with the lines of the input, one after another; the first byte of each says how.
class Services {
 public:
  explicit Services(std::string_view text) : text_(text) {}

  KeyRequest asking() {
    return [this](const std::string&, const HttpRequest& request, std::chrono::milliseconds, unsigned) {
      require_one_request(request);
      require(request.url.starts_with("http://127.0.0.1:1/"), "a service leads to another server");
      const std::string_view part = text_.substr(0, text_.find('\xFF'));
      text_.remove_prefix(std::min(part.size() + 1, text_.size()));
      const bool fails = part.starts_with('!');
      return HttpResponse{.status = fails ? 404 : 200, .body = std::string(part.substr(fails ? 1 : 0))};
    };
  }

 private:
  std::string_view text_;
};

void set_surroundings() {
  ::setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1", 1);
  ::setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/container", 1);
  ::setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1", 1);
  ::setenv("GCE_METADATA_HOST", "127.0.0.1:1", 1);
  ::setenv("CLOUDSDK_CONFIG", (folder() / "gcloud").c_str(), 1);
}

void require_keys(const Found<AwsKeys>& found) {
  if (!found.secret) return;
  const AwsKeys& keys = *found.secret;
  require(!keys.id.empty() && !keys.secret.empty(), "keys that are none");
  require(is_printable(keys.id) && is_printable(keys.secret) && is_printable(keys.token),
          "keys that no header can hold");
}

Found<AwsKeys> keys_by(unsigned kind, std::string_view text) {
  Services services(text);
  const AwsRole role{.arn = "arn", .session = "", .external_id = "", .region = "us-east-1"};
  switch (kind) {
    case 0:
      return keys_of_json(text, "Token", "it");
    case 1:
      return keys_of_sts(text, "it");
    case 2:
      return keys_of_machine(services.asking()).value_or(Found<AwsKeys>{});
    case 3:
      return keys_of_container(services.asking()).value_or(Found<AwsKeys>{});
    default:
      return keys_of_role(services.asking(), role, {"ID", "SECRET", ""});
  }
}

}  // namespace

// The first byte chooses who answers.
void keys(Input input) {
  static const bool surroundings = (set_surroundings(), true);
  static_cast<void>(surroundings);
  if (input.empty()) return;
  const unsigned kind = std::to_integer<unsigned>(input[0]) % 6;
  const std::string_view text = text_of(input.subspan(1));
  require_short_line(sts_reason(text), 400, "a reason of STS that is no short line");
  const StoreError error = store_error(text);
  require_short_line(error.code, 300, "a code that is no short line");
  require_short_line(error.message, 1300, "a message that is no short line");
  require_short_line(error.region, 300, "a region that is no short line");
  if (kind < 5) {
    require_keys(keys_by(kind, text));
    return;
  }
  const Found<std::string> token = find_google_token(Services(text).asking());
  if (token.secret) require(!token.secret->empty() && is_printable(*token.secret), "a token that no header can hold");
}

}  // namespace penstock::fuzz
