#include <nlohmann/json.hpp>
#include <utility>

#include <base/printable.hpp>
#include <formats/text/json_document.hpp>
#include <penstock/error.hpp>
#include <remote/credentials/aws_answers.hpp>
#include <remote/text/times.hpp>
#include <remote/text/xml.hpp>

namespace penstock {
namespace {

Found<AwsKeys> checked_keys(AwsKeys keys, std::string_view expiration, const std::string& origin) {
  if (keys.id.empty() || keys.secret.empty()) throw Error(ErrorKind::io, origin + " returned no keys");
  // Keys are sent in headers. A line break in a key would begin another header.
  if (!is_printable(keys.id) || !is_printable(keys.secret) || !is_printable(keys.token))
    throw Error(ErrorKind::io, origin + " returned keys with characters that an HTTP header cannot contain");
  Found<AwsKeys> found{std::move(keys), {}, origin};
  if (!expiration.empty()) {
    found.expires = iso_time(expiration);
    if (!found.expires) throw Error(ErrorKind::io, origin + " returned keys with an invalid time of expiration");
  }
  return found;
}

const XmlElement* anywhere(const XmlElement& element, std::string_view name) {
  if (element.name == name) return &element;
  for (const XmlElement& child : element.children)
    if (const XmlElement* const found = anywhere(child, name)) return found;
  return nullptr;
}

}  // namespace

Found<AwsKeys> keys_of_json(std::string_view text, std::string_view token_name, const std::string& origin) {
  AwsKeys keys;
  std::string expiration;
  try {
    const JsonDocument document(text);
    const auto text_at = [&](std::string_view name) -> std::string {
      const auto& root = document.root();
      const auto found = root.is_object() ? root.find(name) : root.end();
      if (!root.is_object() || found == root.end() || !found->is_string()) return {};
      return found->get<std::string>();
    };
    keys = {text_at("AccessKeyId"), text_at("SecretAccessKey"), text_at(token_name)};
    expiration = text_at("Expiration");
  } catch (const nlohmann::json::exception&) {  // its message quotes the text
    throw Error(ErrorKind::io, origin + " returned no JSON");
  } catch (const Error&) {
    throw Error(ErrorKind::io, origin + " returned no JSON");
  }
  return checked_keys(std::move(keys), expiration, origin);
}

Found<AwsKeys> keys_of_sts(std::string_view text, const std::string& origin) {
  AwsKeys keys;
  std::string expiration;
  try {
    const XmlElement root = parse_xml(text);
    if (const XmlElement* const given = anywhere(root, "Credentials")) {
      keys = {std::string(given->text_of("AccessKeyId")), std::string(given->text_of("SecretAccessKey")),
              std::string(given->text_of("SessionToken"))};
      expiration = given->text_of("Expiration");
    }
  } catch (const Error&) {
    throw Error(ErrorKind::io, origin + " returned no XML");
  }
  return checked_keys(std::move(keys), expiration, origin);
}

std::string sts_reason(std::string_view text) {
  try {
    const XmlElement root = parse_xml(text);
    const XmlElement* const error = anywhere(root, "Error");
    if (error == nullptr) return {};
    // Only the code: a message may repeat the token that was sent.
    return one_line(std::string(error->text_of("Code")).substr(0, 100));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace penstock
