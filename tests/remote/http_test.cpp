// Values of headers, redirects and web addresses.
#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <remote/http/header_values.hpp>
#include <remote/http/redirect.hpp>
#include <remote/http/retry_after.hpp>
#include <remote/web/web_dialect.hpp>

using namespace penstock;

TEST_CASE("Content-Range is read where it says a range, and refused where it contradicts itself") {
  const auto range = parse_content_range("bytes 10-19/100");
  REQUIRE(range);
  CHECK(*range->first == 10);
  CHECK(*range->last == 19);
  CHECK(*range->size == 100);
  CHECK_FALSE(parse_content_range("bytes 0-0/*")->size);
  CHECK_FALSE(parse_content_range("bytes */100")->first);
  for (const char* const wrong : {"", "bytes", "bytes ", "bytes 1-2", "bytes 2-1/9", "bytes 0-9/9", "bytes -1/9",
                                  "bytes 1-/9", "bytes */*", "items 0-1/2", "bytes 0-1/2x",
                                  "bytes 0-99999999999999999999/*", "bytes +1-2/9", "bytes 0-1/9223372036854775808"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_content_range(wrong));
  }
  CHECK(*parse_digits("9223372036854775807") == 9223372036854775807U);
  CHECK_FALSE(parse_digits("9223372036854775808"));  // no object is so long, and an offset behind it would wrap
}

TEST_CASE("an ETag that is sent back is one header") {
  CHECK(is_strong_etag("\"a b\""));
  CHECK(is_strong_etag("\"\xC3\xA9\""));
  for (const char* const wrong : {"", "\"", "a", "W/\"a\"", "\"a\r\nX: y\"", "\"\x7F\""}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_strong_etag(wrong));
  }
}

TEST_CASE("dates of headers are seconds since 1970") {
  CHECK(*parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == 784111777);
  for (const char* const wrong :
       {"", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Wed, 31 Dec 1969 23:59:59 GMT",
        "Wed, 01 Jan 2262 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 0000 00:00:00 GMT"})
    CHECK_FALSE(parse_http_date(wrong));
  CHECK(*parse_http_date("Tue, 31 Dec 2261 23:59:59 GMT") < std::numeric_limits<std::int64_t>::max() / 1'000'000'000);
}

TEST_CASE("Retry-After is seconds or a date by the server's clock, a minute at most") {
  using std::chrono::seconds;
  const auto after = [](const char* value) {
    return retry_after({.headers = {{"date", "Sun, 06 Nov 1994 08:49:37 GMT"}, {"retry-after", value}}});
  };
  CHECK(after("7") == seconds(7));
  CHECK(after("Sun, 06 Nov 1994 08:49:40 GMT") == seconds(3));
  CHECK(after("Sun, 06 Nov 1994 08:49:00 GMT") == seconds(0));
  CHECK(after("99999999999999999999") == seconds(0));
  CHECK(after("3600") == seconds(60));
  CHECK(after("-1") == seconds(0));
  CHECK(after("soon") == seconds(0));
}

TEST_CASE("a redirect keeps secrets on their host, and never leaves https") {
  const auto led = [](std::string from, const char* location) {
    HttpRequest request{.url = std::move(from), .headers = {"Range: bytes=0-1"}, .own_headers = {"Authorization: x"}};
    const auto problem = redirect(request, location);
    if (problem) return "refused: " + *problem;
    return request.url + (request.own_headers.empty() ? "" : " with secrets");
  };
  CHECK(led("https://h/a/b?q", "/c") == "https://h/c with secrets");
  CHECK(led("https://h/a/b?q", "c?r") == "https://h/a/c?r with secrets");
  CHECK(led("https://h", "c") == "https://h/c with secrets");
  CHECK(led("https://h/a", "?r") == "https://h/a?r with secrets");
  CHECK(led("https://h/a", "https://H:443/b") == "https://H:443/b with secrets");
  CHECK(led("https://h/a", "//g/b") == "https://g/b");
  CHECK(led("https://h/a", "https://h:444/b") == "https://h:444/b");
  CHECK(led("https://h/a", "https://h.evil/b") == "https://h.evil/b");
  CHECK(led("http://h/a", "https://h/b") == "https://h/b");
  for (const char* const refused :
       {"", "http://h/b", "ftp://h/b", "https:///b", "https://u@h/b", "/a b", "/a\r\nX: y", "file:/etc/passwd"}) {
    CAPTURE(refused);
    CHECK(led("https://h/a", refused).starts_with("refused: is redirected"));
  }
}

TEST_CASE("what may not be shown is taken off a web address") {
  const WebAddress parts = split_web_address("https://me:p%40s@host:8080/a/b.tar?sig=1#part");
  CHECK(parts.clean == "https://host:8080/a/b.tar");
  CHECK(parts.query == "?sig=1");
  CHECK(parts.user == "bWU6cEBz");  // me:p@s
  CHECK(split_web_address("https://host").clean == "https://host");
  CHECK(split_web_address("https://host?x").query == "?x");
  CHECK(split_web_address("https://host/a@b").clean == "https://host/a@b");
  CHECK(split_web_address("https://[::1]:80/a").clean == "https://[::1]:80/a");
  for (const char* const wrong :
       {"http://", "http:///a", "http://:80/", "http://user@/a", "http://a b/", "http://a/\n", "http://a/?x y"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(split_web_address(wrong), Error);
  }
  CHECK(escaped_url("http://h/a b/%20/%zz/\xC3\xA9") == "http://h/a%20b/%20/%25zz/%C3%A9");
}
