#include <array>
#include <ctime>

#include <base/printable.hpp>
#include <remote/http/engine/answer_check.hpp>
#include <remote/http/header_values.hpp>

namespace penstock {
namespace {

std::string state_text(const ObjectInfo& info) {
  std::string text = with_commas(info.size) + " bytes";
  if (!info.version.empty()) text += ", version " + one_line(info.version);
  if (info.modified != 0) {
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    const std::time_t seconds = info.modified / kNanoseconds;
    std::tm parts{};
    std::array<char, 32> date{};
    if (::gmtime_r(&seconds, &parts) != nullptr && std::strftime(date.data(), date.size(), "%FT%TZ", &parts) != 0)
      text += std::string(", of ") + date.data();
  }
  return text;
}

std::string range_text(std::uint64_t first, std::uint64_t last) {
  return std::to_string(first) + '-' + std::to_string(last);
}

AnswerCheck wrong(std::string text) {
  return {AnswerCheck::Verdict::wrong, std::move(text)};
}

}  // namespace

std::string difference_of_states(const ObjectInfo& was, const ObjectInfo& is) {
  const bool both_versions = !was.version.empty() && !is.version.empty();
  const bool same = both_versions
                        ? was.version == is.version
                        : was.size == is.size && (was.modified == 0 || is.modified == 0 || was.modified == is.modified);
  if (same) return {};
  return "changed while it was read: it was " + state_text(was) + ", and is now " + state_text(is);
}

AnswerCheck check_answer(const Dialect& dialect, const StoredObject& object, std::uint64_t offset, std::uint64_t length,
                         const HttpResponse& head) {
  const std::string_view encoding = head.header("content-encoding");
  if (!encoding.empty() && encoding != "identity")
    return {AnswerCheck::Verdict::hopeless,
            "the server sends it with Content-Encoding " + double_quoted(encoding) + " instead of its unchanged bytes"};
  // The common case is decided without parsing the headers again.
  const ObjectInfo& known = object.state();
  if (known.version.empty() || head.header("etag") != known.version) {
    const ObjectInfo now = dialect.info(head);
    std::string difference = difference_of_states(known, now);
    if (difference.empty() && object.seen != nullptr) difference = difference_of_states(object.seen->see(now), now);
    if (!difference.empty()) return {AnswerCheck::Verdict::changed, std::move(difference)};
  }
  const std::string_view length_text = head.header("content-length");
  const auto body = parse_digits(length_text);
  if (!length_text.empty() && !body) return wrong("the answer's Content-Length is not a number");
  if (head.status == 200) {
    if (body && *body != object.info.size)
      return wrong("the answer has " + with_commas(*body) + " bytes instead of " + with_commas(object.info.size));
    if (offset != 0 && offset + length > kMostOfWhole)
      return {AnswerCheck::Verdict::hopeless,
              "the server sends whole objects instead of ranges, and this object is too large for that"};
    return {AnswerCheck::Verdict::whole};
  }
  const std::string_view range_header = head.header("content-range");
  const auto range = parse_content_range(range_header);
  if (!range || !range->first) return wrong("the answer does not contain its range");
  if (*range->first != offset || *range->last != offset + length - 1)
    return wrong("the answer has bytes " + range_text(*range->first, *range->last) + " instead of " +
                 range_text(offset, offset + length - 1));
  if (range->size && *range->size != object.info.size)
    return wrong("the answer is from an object of " + with_commas(*range->size) + " bytes instead of " +
                 with_commas(object.info.size));
  if (body && *body != length)
    return wrong("the answer has " + with_commas(*body) + " bytes instead of " + with_commas(length));
  return {};
}

}  // namespace penstock
