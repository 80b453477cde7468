// What stores answer is read strictly, and never believed: XML, listings, errors, keys of services.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <remote/azure/azure_dialect.hpp>
#include <remote/credentials/aws_answers.hpp>
#include <remote/credentials/google_token.hpp>
#include <remote/s3/bucket_dialect.hpp>
#include <remote/s3/store_error.hpp>
#include <remote/text/listing.hpp>
#include <remote/text/xml.hpp>

#include "support/temporary_folder.hpp"

using namespace penstock;

namespace {

// Credentials of a user of Google's tools, which are asked for a token.
std::string user_file() {
  static const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "user.json";
  test::write_file(file,
                   R"({"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"})");
  return file.string();
}

}  // namespace

TEST_CASE("XML is read with its references, comments and CDATA") {
  const XmlElement root = parse_xml(
      "<?xml version=\"1.0\"?>\n<!-- c --><s3:List xmlns:s3='u>' a=\"&lt;\"><Key>a &lt;b&gt; "
      "&amp;&#233;&#x2603;&quot;&apos;</Key>"
      "<Key>two</Key><Empty/><Raw><![CDATA[<&]]></Raw><T> x <!-- y -->z</T></s3:List>\n");
  CHECK(root.name == "List");
  CHECK(root.children.size() == 5);
  CHECK(root.text_of("Key") == "a <b> &\xC3\xA9\xE2\x98\x83\"'");
  CHECK(root.text_of("Empty").empty());
  CHECK(root.text_of("Raw") == "<&");
  CHECK(root.text_of("T") == " x z");
  CHECK(root.child("None") == nullptr);
  CHECK(parse_xml("<a>" + xml_escaped("<\"&'>") + "</a>").text == "<\"&'>");
}

TEST_CASE("what is no XML is an error, however it is broken") {
  for (const char* const text : {"",
                                 " ",
                                 "text",
                                 "<",
                                 "<a",
                                 "<a>",
                                 "<a></b>",
                                 "<a/><b/>",
                                 "<a>&none;</a>",
                                 "<a>&#0;</a>",
                                 "<a>&#xD800;</a>",
                                 "<a>&#1114112;</a>",
                                 "<a>&#99999999999;</a>",
                                 "<a>&amp</a>",
                                 "<a:/>",
                                 "<a:></a:>",
                                 "<a b></a>",
                                 "<a b=c></a>",
                                 "<a b=\"c></a>",
                                 "<!DOCTYPE a><a/>",
                                 "<!DOCTYPE a [<!ENTITY e \"e\">]><a>&e;</a>",
                                 "<a>\xFF</a>",
                                 "<a b=\"<\"/>",
                                 "<a><!-- </a>",
                                 "<a><![CDATA[</a>",
                                 "<a>x</a>y",
                                 "</a>",
                                 "<?a",
                                 "<a/ >"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_xml(text), Error);
    try {
      parse_xml(text);
    } catch (const Error& error) {
      CHECK(error.context().offset.value_or(0) <= std::string_view(text).size());
    }
  }
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "<a>";
  CHECK_THROWS_AS(parse_xml(deep), Error);
  std::string wide = "<a>";
  for (int i = 0; i < 250'000; ++i) wide += "<b/>";
  CHECK_THROWS_AS(parse_xml(wide + "</a>"), Error);
}

TEST_CASE("an answer cut or changed anywhere is a listing or an error") {
  const std::string whole =
      "<?xml version='1.0'?><ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>a&amp;b</NextContinuationToken><Contents><Key>p/a%2Bb+c%25</Key><Size>12</Size>"
      "<ETag>&quot;e&quot;</ETag><LastModified>2026-01-31T12:00:00.500Z</LastModified></Contents>"
      "<Contents><Key>p/</Key><Size>0</Size></Contents>"
      "<CommonPrefixes><Prefix>p/q/</Prefix></CommonPrefixes></ListBucketResult>";
  const ListedPage page = parse_listed_page(whole, "p/");
  REQUIRE(page.entries.size() == 2);
  CHECK(page.entries[0].name == "a+b c%");
  CHECK(page.entries[0].info == ObjectInfo{12, "\"e\"", 1769860800'500'000'000});
  CHECK(page.entries[1].name == "q");
  CHECK(page.entries[1].is_folder);
  CHECK(page.next == "a&b");
  std::mt19937 random(7);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string cut = whole.substr(0, i);
    CHECK_THROWS_AS(parse_listed_page(cut, "p/"), Error);
    std::string changed = whole;
    changed[i] = static_cast<char>(random());
    try {
      parse_listed_page(changed, "p/");
      parse_azure_page(changed, "p/");
    } catch (const Error&) {
    }
  }
}

TEST_CASE("a listing has names that lie in its folder alone") {
  std::string s3 = "<ListBucketResult>", azure = "<EnumerationResults><Blobs>";
  for (const std::string name : {"a", ".", "..", "a/b", "..a"}) {
    s3 += "<Contents><Key>p/" + name + "</Key><Size>1</Size></Contents><CommonPrefixes><Prefix>p/" + name +
          "/</Prefix></CommonPrefixes>";
    azure += "<Blob><Name>p/" + name +
             "</Name><Properties><Content-Length>1</Content-Length></Properties></Blob><BlobPrefix><Name>p/" + name +
             "/</Name></BlobPrefix>";
  }
  for (const ListedPage& page : {parse_listed_page(s3 + "</ListBucketResult>", "p/"),
                                 parse_azure_page(azure + "</Blobs></EnumerationResults>", "p/")}) {
    std::vector<std::string> found;
    for (const ListedObject& one : page.entries) found.push_back(one.name + (one.is_folder ? "/" : ""));
    CHECK(found == std::vector<std::string>{"a", "a/", "..a", "..a/"});
  }
  const std::string zero =
      "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a%00b</Key><Size>1</Size></Contents>"
      "</ListBucketResult>";
  CHECK(parse_listed_page(zero, "").entries.empty());
}

TEST_CASE("a time that no clock here tells is none") {
  const ListedPage page = parse_azure_page(
      "<EnumerationResults><Blobs><Blob><Name>a</Name><Properties><Content-Length>1</Content-Length><Last-Modified>"
      "Fri, 31 Dec 9999 23:59:59 GMT</Last-Modified></Properties></Blob></Blobs></EnumerationResults>",
      "");
  CHECK(page.entries.at(0).info.modified == 0);
}

TEST_CASE("a listing that does not end is an error") {
  const auto page = [](std::string next, std::string name = "") {
    ListedPage made{.entries = {}, .next = std::move(next)};
    if (!name.empty()) made.entries.push_back({.name = std::move(name)});
    return made;
  };
  Listing same;
  same.add(page("1", "b"), 10);
  same.add(page("2", "a"), 10);
  CHECK_THROWS_AS(same.add(page("2", "c"), 10), Error);
  Listing empty;
  std::uint64_t pages = 0;
  CHECK_THROWS_AS(
      {
        while (pages < 1'000'000) empty.add(page(std::to_string(++pages)), 10);
      },
      Error);
  CHECK(pages > 100);
  Listing large;
  large.add(page("1", "a"), Listing::kMostBytes);
  CHECK_THROWS_AS(large.add(page("2", "a"), 1), Error);
  Listing right;
  right.add(page("1", "b"), 10);
  right.add(page("2", "a"), 10);
  right.add(page("", "b"), 10);
  const std::vector<ListedObject> all = std::move(right).in_order();
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "a");
  CHECK(all[1].name == "b");
}

TEST_CASE("of an error of a store its code and one short line are kept, and nothing that was signed") {
  const StoreError error = store_error("<Error><Code>AccessDenied</Code><Message>no\nline two</Message></Error>");
  CHECK(error.code == "AccessDenied");
  CHECK(error.message == "no");
  CHECK(store_error("<Error><Code>SignatureDoesNotMatch</Code><Message>the secret</Message></Error>")
            .message.find("the secret key") == 0);
  CHECK(store_error("<Error><Code>" + std::string(5000, 'x') + "</Code></Error>").code.size() < 100);
  CHECK(store_error("<Error><Code>a\x1b[31m</Code></Error>").code.find('\x1b') == std::string::npos);
  CHECK(store_error("<html/>").code.empty());
  CHECK(store_error("not XML").code.empty());
}

TEST_CASE("keys of services need an id and a secret, and errors quote nothing of the answer") {
  const auto found = keys_of_json(
      R"({"AccessKeyId": "I", "SecretAccessKey": "S", "Token": "T", "Expiration": "2026-01-31T12:00:00Z"})", "Token",
      "it");
  CHECK(*found.secret == AwsKeys{"I", "S", "T"});
  CHECK(found.expires.has_value());
  for (const char* const text :
       {"", "SECRET", "[]", "\"SECRET\"", "{}", R"({"AccessKeyId": "I"})",
        R"({"AccessKeyId": 1, "SecretAccessKey": "SECRET"})",
        R"({"AccessKeyId": "I", "SecretAccessKey": "SECRET", "Expiration": "SECRET"})",
        R"({"AccessKeyId": "I", "SecretAccessKey": "S", "Token": "SECRET\r\nX: y"})",
        R"({"AccessKeyId": "I\n", "SecretAccessKey": "SECRET"})", R"({"AccessKeyId": "SECRET)"}) {
    CAPTURE(text);
    try {
      keys_of_json(text, "Token", "it");
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("SECRET") == std::string::npos);
      CHECK(std::string(error.what()).find("it returned") != std::string::npos);
    }
  }
  CHECK_THROWS_AS(keys_of_sts("<a/>", "it"), Error);
  CHECK_THROWS_AS(keys_of_sts("<Credentials><AccessKeyId>I</AccessKeyId><SecretAccessKey>S</SecretAccessKey>"
                              "<SessionToken>T&#10;X: y</SessionToken></Credentials>",
                              "it"),
                  Error);
  CHECK(sts_reason("<E><Error><Code>Denied</Code><Message>SECRET</Message></Error></E>") == "Denied");
}

TEST_CASE("a token of Google's lives as long as a number says, and anything else is none") {
  const auto expires = [](const std::string& lasts) {
    ::setenv("GOOGLE_APPLICATION_CREDENTIALS", user_file().c_str(), 1);
    const auto found = find_google_token([&](const std::string&, const HttpRequest&, auto, unsigned) {
      return HttpResponse{.status = 200, .body = R"({"access_token": "T", "expires_in": )" + lasts + "}"};
    });
    ::unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    CHECK(found.secret == "T");
    return found.expires.has_value();
  };
  CHECK(expires("3600"));
  CHECK(expires("\"3600\""));
  for (const char* const odd :
       {"\"soon\"", "\"-9999999\"", "-5", "\" 5\"", "99999999999", "1e300", "18446744073709551615", "null", "[]"}) {
    CAPTURE(odd);
    CHECK_FALSE(expires(odd));
  }
}
