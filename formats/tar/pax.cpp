#include <charconv>

#include <formats/tar/pax.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

std::optional<std::uint64_t> decimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string> path_value(std::string_view value) {
  if (value.empty()) return std::nullopt;
  if (value.find('\0') != std::string_view::npos) {
    throw Error::corrupt("NUL in a pax path");
  }
  return std::string(value);
}

void apply(std::string_view key, std::string_view value, PaxRecords& records) {
  if (key == "path") {
    records.path = path_value(value);
  } else if (key == "linkpath") {
    records.link_path = path_value(value);
  } else if (key == "size") {
    records.size = decimal(value);
    if (!records.size && !value.empty()) throw Error::corrupt("a pax size that is not a number");
  } else if (key.starts_with("GNU.sparse.") || key == "SUN.holesdata") {
    records.sparse = true;
  }
}

}  // namespace

void read_pax(std::string_view body, PaxRecords& records) {
  while (!body.empty()) {
    const std::size_t blank = body.find(' ');
    const std::optional<std::uint64_t> length =
        blank == std::string_view::npos ? std::nullopt : decimal(body.substr(0, blank));
    if (!length || *length > body.size() || *length < blank + 2 || body[*length - 1] != '\n') {
      throw Error::corrupt("broken pax header: a record's length is wrong");
    }
    const std::string_view record = body.substr(blank + 1, *length - blank - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error::corrupt("broken pax header: a record is not KEY=VALUE");
    }
    apply(record.substr(0, equals), record.substr(equals + 1), records);
    body.remove_prefix(*length);
  }
}

std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;  // blank, '=', newline
  std::size_t length = rest + 1;
  while (rest + std::to_string(length).size() != length) ++length;
  return std::to_string(length).append(" ").append(key).append("=").append(value).append("\n");
}

std::string pax_comment(std::size_t length) {
  const std::string head = std::to_string(length) + " comment=";
  return head + std::string(length - head.size() - 1, ' ') + "\n";
}

}  // namespace penstock
