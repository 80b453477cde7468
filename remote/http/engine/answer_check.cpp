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
  return "changed while it was read: it was " + state_text(was) + ", and is " + state_text(is);
}

AnswerCheck check_answer(const Dialect& dialect, const StoredObject& object, std::uint64_t offset, std::uint64_t length,
                         const HttpResponse& head) {
  const std::string_view encoding = head.header("content-encoding");
  if (!encoding.empty() && encoding != "identity")
    return {AnswerCheck::Verdict::hopeless,
            "the server sends it with Content-Encoding " + double_quoted(encoding) + ", not its bytes as they are"};
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
  if (!length_text.empty() && !body) return wrong("the answer's Content-Length is no number");
  if (head.status == 200) {
    if (body && *body != object.info.size)
      return wrong("the answer has " + with_commas(*body) + " bytes of " + with_commas(object.info.size));
    if (offset != 0 && offset + length > kMostOfWhole)
      return {AnswerCheck::Verdict::hopeless,
              "the server sends whole objects where a range of them is asked for, and this one is large"};
    return {AnswerCheck::Verdict::whole};
  }
  const std::string_view range_header = head.header("content-range");
  const auto range = parse_content_range(range_header);
  if (!range || !range->first) return wrong("the answer does not say which range it is");
  if (*range->first != offset || *range->last != offset + length - 1)
    return wrong("the answer is of bytes " + range_text(*range->first, *range->last) + " where " +
                 range_text(offset, offset + length - 1) + " were asked for");
  if (range->size && *range->size != object.info.size)
    return wrong("the answer is of an object of " + with_commas(*range->size) + " bytes, which has " +
                 with_commas(object.info.size));
  if (body && *body != length)
    return wrong("the answer has " + with_commas(*body) + " bytes where " + with_commas(length) + " were asked for");
  return {};
}

}  // namespace penstock
