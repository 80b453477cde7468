// Signatures are AWS's own. Vectors: AWS's "Signature Version 4 Test Suite" (names as there) and the examples of the
// Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header"; digests of FIPS 180-4's and RFC
// 4231's and RFC 4648's examples.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <remote/sign/aws_v4.hpp>
#include <remote/sign/digest.hpp>
#include <remote/sign/percent.hpp>

using namespace penstock;

namespace {

std::chrono::system_clock::time_point at(std::int64_t seconds) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
}

const auto kSuiteTime = at(1440938160);  // 2015-08-30T12:36:00Z
const auto kS3Time = at(1369353600);     // 2013-05-24T00:00:00Z

struct Vector {
  std::string name;
  std::string method;
  std::string key;  // of the path, not encoded, without its first slash
  Query query;
  SignedHeaders headers;
  std::string names;  // of signed headers
  std::string signature;
};

std::string authorization(const SignedHeaders& headers) {
  return headers.back().first == "authorization" ? headers.back().second : "";
}

const std::string kAll = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const std::string kToken =
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthA"
    "x7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY"
    "9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

}  // namespace

TEST_CASE("requests of AWS's test suite are signed as it says") {
  const std::string plain = "host;x-amz-date";
  const std::vector<Vector> vectors{
      {"get-vanilla", "GET", "", {}, {}, plain, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"post-vanilla", "POST", "", {}, {}, plain, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"get-vanilla-query-order-key-case",
       "GET",
       "",
       {{"Param2", "value2"}, {"Param1", "value1"}},
       {},
       plain,
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-vanilla-query-order-key",
       "GET",
       "",
       {{"Param1", "value2"}, {"Param1", "Value1"}},
       {},
       plain,
       "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"},
      {"get-vanilla-query-order-value",
       "GET",
       "",
       {{"Param1", "value2"}, {"Param1", "value1"}},
       {},
       plain,
       "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
      {"get-unreserved",
       "GET",
       kAll,
       {},
       {},
       plain,
       "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-utf8", "GET", "\u1234", {}, {}, plain, "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-space",
       "GET",
       "example space/",
       {},
       {},
       plain,
       "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
      {"get-header-key-duplicate",
       "GET",
       "",
       {},
       {{"my-header1", "value2"}, {"my-header1", "value2"}, {"my-header1", "value1"}},
       "host;my-header1;x-amz-date",
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
      {"get-header-value-trim",
       "GET",
       "",
       {},
       {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\""}},
       "host;my-header1;my-header2;x-amz-date",
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
  };
  AwsSigner signer({.id = "AKIDEXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}, "us-east-1", "service");
  for (const Vector& v : vectors) {
    CAPTURE(v.name);
    const std::string path = "/" + percent_encoded_path(v.key);
    const std::string query = canonical_query(v.query);
    const auto headers = signer.sign({.method = v.method,
                                      .host = "example.amazonaws.com",
                                      .path = path,
                                      .query = query,
                                      .headers = v.headers,
                                      .payload_hash = std::string(kNoPayload)},
                                     kSuiteTime);
    CHECK(headers.front() == std::pair<std::string, std::string>("x-amz-date", "20150830T123600Z"));
    CHECK(authorization(headers) ==
          "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" + v.names +
              ", Signature=" + v.signature);
  }
}

TEST_CASE("the token of keys that expire is signed with them, as post-sts-header-before has it") {
  AwsSigner signer({"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", kToken}, "us-east-1", "service");
  const auto headers = signer.sign({.method = "POST",
                                    .host = "example.amazonaws.com",
                                    .path = "/",
                                    .query = "",
                                    .headers = {},
                                    .payload_hash = std::string(kNoPayload)},
                                   kSuiteTime);
  REQUIRE(headers.size() == 3);
  CHECK(headers[1] == std::pair<std::string, std::string>("x-amz-security-token", kToken));
  CHECK(authorization(headers).ends_with("85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"));
}

TEST_CASE("the requests in S3's manual are signed as it says, one day after another") {
  struct Example {
    std::string method;
    std::string key;
    Query query;
    SignedHeaders headers;
    std::string body;
    std::string signature;
  };
  const std::vector<Example> examples{
      {"GET",
       "test.txt",
       {},
       {{"range", "bytes=0-9"}},
       "",
       "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
      {"PUT",
       "test$file.text",
       {},
       {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
       "Welcome to Amazon S3.",
       "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
      {"GET", "", {{"lifecycle", ""}}, {}, "", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
      {"GET",
       "",
       {{"max-keys", "2"}, {"prefix", "J"}},
       {},
       "",
       "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
  };
  AwsSigner signer({.id = "AKIAIOSFODNN7EXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}, "us-east-1",
                   "s3");
  for (const Example& e : examples) {
    CAPTURE(e.key);
    const std::string path = "/" + percent_encoded_path(e.key);
    const std::string query = canonical_query(e.query);
    SigningRequest request{.method = e.method,
                           .host = "examplebucket.s3.amazonaws.com",
                           .path = path,
                           .query = query,
                           .headers = e.headers,
                           .payload_hash = hexadecimal(sha256(e.body))};
    request.headers.emplace_back("x-amz-content-sha256", request.payload_hash);
    const std::string other_day = authorization(signer.sign(request, kSuiteTime));  // with another derived key
    CHECK_FALSE(other_day.ends_with(e.signature));
    CHECK(authorization(signer.sign(request, kS3Time)).ends_with("Signature=" + e.signature));
  }
}

TEST_CASE("keys are encoded once, byte by byte, and nothing of their path is resolved") {
  CHECK(percent_encoded_path("a//../b/./c") == "a//../b/./c");
  CHECK(percent_encoded_path("50% of a+b/\xc3\xa9?x=#1&y") == "50%25%20of%20a%2Bb/%C3%A9%3Fx%3D%231%26y");
  CHECK(percent_encoded("a/b*c'(d)!") == "a%2Fb%2Ac%27%28d%29%21");
  CHECK(canonical_query({{"uploads", ""}, {"prefix", "a b/+"}, {"list-type", "2"}}) ==
        "list-type=2&prefix=a%20b%2F%2B&uploads=");
  // Sorted as encoded: "-" is before "%" is before letters nowhere else than in bytes.
  CHECK(canonical_query({{"a-", "1"}, {"a\xc3\xa9", "2"}, {"a", "3"}}) == "a=3&a%C3%A9=2&a-=1");
}

TEST_CASE("digests, HMAC and base64 are those of their standards") {
  CHECK(hexadecimal(sha256("")) == kNoPayload);
  CHECK(hexadecimal(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hexadecimal(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hexadecimal(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(hexadecimal(md5("abc")) == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xfb\xff") == "+/8=");
  CHECK(base64_url("\xfb\xff") == "-_8");
}

TEST_CASE("a private key that is none is refused without a word of it") {
  try {
    rs256("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n", "text");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    CHECK(std::string(error.what()).find("c2VjcmV0") == std::string::npos);
  }
}
