// What stores answer is read strictly, and never believed: XML, listings, errors, keys of services.
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/base/error.hpp>
#include <penstock/remote/azure/azure_listing.hpp>
#include <penstock/remote/credentials/aws_answers.hpp>
#include <penstock/remote/s3/bucket_listing.hpp>
#include <penstock/remote/s3/store_error.hpp>
#include <penstock/remote/text/xml.hpp>

using namespace penstock;

TEST_CASE("XML is read with its references, comments and CDATA") {
  const XmlElement root = parse_xml(
      "<?xml version=\"1.0\"?>\n<!-- c --><s3:List xmlns:s3='u>' a=\"<\"><Key>a &lt;b&gt; "
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
                                 "<a b></a>",
                                 "<a b=c></a>",
                                 "<a b=\"c></a>",
                                 "<!DOCTYPE a><a/>",
                                 "<a><!-- </a>",
                                 "<a><![CDATA[</a>",
                                 "<a>x</a>y",
                                 "</a>",
                                 "<?a",
                                 "<a/ >"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_xml(text), Error);
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
        R"({"AccessKeyId": "I", "SecretAccessKey": "SECRET", "Expiration": "SECRET"})", R"({"AccessKeyId": "SECRET)"}) {
    CAPTURE(text);
    try {
      keys_of_json(text, "Token", "it");
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("SECRET") == std::string::npos);
      CHECK(std::string(error.what()).find("it gave") != std::string::npos);
    }
  }
  CHECK_THROWS_AS(keys_of_sts("<a/>", "it"), Error);
  CHECK(sts_reason("<E><Error><Code>Denied</Code><Message>SECRET</Message></Error></E>") == "Denied");
}
