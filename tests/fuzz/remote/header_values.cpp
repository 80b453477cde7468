#include <string>

#include <remote/http/header_values.hpp>
#include <remote/text/times.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void header_values(Input input) {
  const std::string_view text = text_of(input);
  if (const auto range = parse_content_range(text)) {
    require(range->first.has_value() == range->last.has_value(), "half a range");
    require(range->first.has_value() || range->size.has_value(), "a range that says nothing");
    require(!range->first || *range->first <= *range->last, "a range that ends before it begins");
    require(!range->size || !range->last || *range->last < *range->size, "a range behind the end");
  }
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  if (const auto date = parse_http_date(text)) require(*date * kNanoseconds >= 0, "a date that cannot be told");
  require(nanoseconds_of(iso_time(text)) >= -100 * 3600 * kNanoseconds, "a time that cannot be told");
  if (const auto number = parse_digits(text)) require(std::to_string(*number).size() <= text.size(), "another number");
  if (is_strong_etag(text)) require(text.find_first_of("\r\n") == std::string_view::npos, "an ETag of several lines");
}

}  // namespace penstock::fuzz
