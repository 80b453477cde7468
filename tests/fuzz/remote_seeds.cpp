#include <string>
#include <vector>

#include "fuzz/seeds.hpp"

namespace penstock::fuzz {
namespace {

const std::string kZero(1, '\0'), kOne = "\1", kTwo = "\2", kThree = "\3", kFour = "\4", kFive = "\5";

void add_listings(const Seeds& seeds) {
  const std::string s3 =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<Name>bucket</Name><Prefix>p/</Prefix><EncodingType>url</EncodingType><KeyCount>3</KeyCount>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>1ueGcxLPRx1Tr</NextContinuationToken>"
      "<Contents><Key>p/a%2Bb+c%25</Key><LastModified>2026-01-31T12:00:00.000Z</LastModified>"
      "<ETag>&quot;70ee1738b6b21e2c8a43f3a5ab0eee71&quot;</ETag><Size>11</Size></Contents>"
      "<Contents><Key>p/</Key><Size>0</Size></Contents>"
      "<CommonPrefixes><Prefix>p/q/</Prefix></CommonPrefixes></ListBucketResult>";
  const std::string azure =
      "\xEF\xBB\xBF<?xml "
      "version='1.0'?><EnumerationResults><Prefix>p/</Prefix><Blobs><Blob><Name>p/a</Name><Properties>"
      "<Last-Modified>Sun, 06 Nov 1994 08:49:37 GMT</Last-Modified><Etag>0x8D</Etag><Content-Length>11</Content-Length>"
      "</Properties></Blob><BlobPrefix><Name>p/q/</Name></BlobPrefix></Blobs><NextMarker>2!72!</NextMarker>"
      "</EnumerationResults>";
  seeds.add("listing", "s3", kZero + s3);
  seeds.add("listing", "s3_all", kTwo + s3);
  seeds.add("listing", "azure", kOne + azure);
  seeds.add("listing", "azure_all", kThree + azure);
  seeds.add("xml", "s3", s3);
  seeds.add("xml", "azure", azure);
  seeds.add("xml", "some", "<!-- c --><s3:a b='c' d=\"e\">&lt;&#233;&#x2603;<![CDATA[<&]]><?i?><b/></s3:a >");
}

void add_answers(const Seeds& seeds) {
  const std::string range =
      "etag: \"v\"\ncontent-range: bytes 100-149/1000\ncontent-length: 50\nlast-modified: Sun, 06 Nov 1994 08:49:37 "
      "GMT\ncontent-encoding: identity\n\n";
  const std::string error =
      "date: Sun, 06 Nov 1994 08:49:37 GMT\nretry-after: 7\nx-amz-bucket-region: eu-west-1\nx-ms-error-code: "
      "BlobNotFound\n\n"
      "<Error><Code>RequestTimeTooSkewed</Code><Message>why</Message><Region>eu-west-1</Region></Error>";
  for (char status = 0; status < 12; ++status)
    seeds.add("store_answer", "status" + std::to_string(int{status}), status + (status < 2 ? range : error));
  const std::vector<std::string> values{"bytes 0-99/1000",
                                        "bytes */1000",
                                        "bytes 0-99/*",
                                        "Sun, 06 Nov 1994 08:49:37 GMT",
                                        "2026-01-31T12:00:00.123Z",
                                        "2026-01-31T12:00:00+01:30",
                                        "\"an etag\"",
                                        "1234"};
  for (std::size_t i = 0; i < values.size(); ++i) seeds.add("header_values", "value" + std::to_string(i), values[i]);
  const std::vector<std::string> places{"/other",
                                        "https://HOST.example:443/a",
                                        "//else.example/b\n/c",
                                        "?query",
                                        "name",
                                        "https://host.example@else.example/",
                                        "http://host.example:8080/x\nhttps://a/"};
  for (std::size_t i = 0; i < places.size(); ++i) {
    seeds.add("redirect", "secure" + std::to_string(i), kZero + places[i]);
    seeds.add("redirect", "plain" + std::to_string(i), kOne + places[i]);
  }
}

void add_keys(const Seeds& seeds) {
  const std::string json =
      R"({"Code": "Success", "AccessKeyId": "I", "SecretAccessKey": "S", "Token": "T", "Expiration": "2026-01-31T12:00:00Z"})";
  const std::string sts =
      "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>I</AccessKeyId><SecretAccessKey>S"
      "</SecretAccessKey><SessionToken>T</SessionToken><Expiration>2026-01-31T12:00:00Z</Expiration></Credentials>"
      "</AssumeRoleResult></AssumeRoleResponse>";
  seeds.add("keys", "json", kZero + json);
  seeds.add("keys", "sts", kOne + sts);
  seeds.add("keys", "machine", kTwo + "token\xFFrole\n\xFF" + json);
  seeds.add("keys", "container", kThree + json);
  seeds.add("keys", "role", kFour + sts);
  seeds.add("keys", "refused", kFour + "!<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>");
  seeds.add("keys", "google", kFive + R"({"access_token": "ya29.T", "expires_in": 3599, "token_type": "Bearer"})");
  seeds.add("profile", "both",
            "[default]\nregion = eu-west-1 # here\ns3 =\n  addressing_style = path\n[profile a]\nrole_arn=arn\n"
            "source_profile = default\ncredential_process = /bin/tool \"a b\" 'c' \\d\n" +
                kZero + "[default]\naws_access_key_id=I\naws_secret_access_key = S\n[a]\n;comment\n");
}

}  // namespace

void add_remote(const Seeds& seeds) {
  add_listings(seeds);
  add_answers(seeds);
  add_keys(seeds);
}

}  // namespace penstock::fuzz
