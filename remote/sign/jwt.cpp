#include <nlohmann/json.hpp>

#include <remote/sign/digest.hpp>
#include <remote/sign/jwt.hpp>

namespace penstock {

std::string service_account_claim(const std::string& email, const std::string& key_id, const std::string& pem_key,
                                  const std::string& scope, const std::string& audience,
                                  std::chrono::system_clock::time_point when) {
  const auto issued = std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count();
  const nlohmann::json header{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", key_id}};
  const nlohmann::json claims{
      {"iss", email}, {"scope", scope}, {"aud", audience}, {"iat", issued}, {"exp", issued + 3600}};
  const std::string text = base64_url(header.dump()) + "." + base64_url(claims.dump());
  return text + "." + base64_url(rs256(pem_key, text));
}

}  // namespace penstock
