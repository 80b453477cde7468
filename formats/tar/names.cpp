#include <formats/io/own_files.hpp>
#include <formats/tar/names.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

/// Replaces each character of `special` in `text` by %XX, and also '%' if it begins such a code.
std::string percent_encoded(std::string_view text, std::string_view special) {
  static constexpr std::string_view kCodes[]{"25", "2E", "2F"};
  std::string encoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool code = special.find(text[i]) != std::string_view::npos;
    if (text[i] == '%') {
      for (const std::string_view known : kCodes) code = code || text.substr(i + 1).starts_with(known);
    }
    if (!code) {
      encoded += text[i];
    } else {
      encoded += text[i] == '.' ? "%2E" : text[i] == '/' ? "%2F" : "%25";
    }
  }
  return encoded;
}

std::string encoded_key(std::string_view key) {
  std::string encoded;
  if (key.starts_with('/')) {
    encoded = "%2F";
    key.remove_prefix(1);
  }
  for (std::size_t slash = key.find('/'); slash != std::string_view::npos; slash = key.find('/')) {
    const std::string_view folder = key.substr(0, slash);
    encoded += percent_encoded(folder, folder == "." || folder == ".." ? "." : "");
    encoded += '/';
    key.remove_prefix(slash + 1);
  }
  return encoded + percent_encoded(key, ".");
}

}  // namespace

std::optional<TarMemberName> split_member_name(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  const std::size_t base = name.rfind('/') + 1;  // npos + 1 == 0
  const std::size_t dot = name.find('.', base);
  if (is_own_file(name.substr(base))) return std::nullopt;
  if (dot == std::string_view::npos || dot == base || dot + 1 == name.size()) return std::nullopt;
  return TarMemberName{.key = name.substr(0, dot), .extension = name.substr(dot + 1)};
}

std::string tar_member_name(std::string_view key, std::string_view field) {
  if (key.empty() || key.ends_with('/') || key.find('\0') != std::string_view::npos) {
    throw Error::unsupported(
        "the key cannot be the name of a tar member: it is empty, ends with a slash or contains a NUL");
  }
  if (field.empty() || field.find('\0') != std::string_view::npos) {
    throw Error::unsupported("the field cannot be part of the name of a tar member: it is empty or contains a NUL");
  }
  return encoded_key(key).append(".").append(percent_encoded(field, "/"));
}

}  // namespace penstock
