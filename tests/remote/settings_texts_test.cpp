// Profiles, commands, times, addresses and endpoints are read as the clouds' own tools read them.
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <remote/azure/azure_address.hpp>
#include <remote/credentials/process.hpp>
#include <remote/s3/aws_endpoint.hpp>
#include <remote/s3/bucket_address.hpp>
#include <remote/text/profile_file.hpp>
#include <remote/text/times.hpp>

using namespace penstock;

TEST_CASE("profiles of both files are one, and that of keys comes first") {
  const Profiles profiles(
      "[default]\nregion = here # a comment\n[profile a b]\n s3 = x\nregion=there\ns3 =\n  addressing_style = path\n"
      "  endpoint_url=http://h\noutput=json\n[sso-session x]\nregion = not\n; c\n[profile k]\nregion=from-config\nno "
      "line\n",
      "[k]\naws_access_key_id = i#d\r\nregion = from-credentials\n[default]\naws_access_key_id=d");
  REQUIRE(profiles.find("default") != nullptr);
  CHECK(setting(profiles.find("default"), "region") == "here");
  CHECK(setting(profiles.find("default"), "aws_access_key_id") == "d");
  CHECK(setting(profiles.find("a b"), "region") == "there");
  CHECK(setting(profiles.find("a b"), "s3.addressing_style") == "path");
  CHECK(setting(profiles.find("a b"), "s3.endpoint_url") == "http://h");
  CHECK(setting(profiles.find("a b"), "output") == "json");
  CHECK(setting(profiles.find("k"), "aws_access_key_id") == "i#d");
  CHECK(setting(profiles.find("k"), "region") == "from-credentials");
  CHECK(profiles.find("x") == nullptr);
  CHECK(profiles.find("sso-session x") == nullptr);
  Profiles("[", "[]\n]\n=\n[a\nb=c");  // nothing of it ends in more than nothing
}

TEST_CASE("a command is split into words as a shell would, without its expansions") {
  using Words = std::vector<std::string>;
  CHECK(words_of("a  b\tc") == Words{"a", "b", "c"});
  CHECK(words_of("\"a b\" 'c d' e\\ f \"\" g\"h\"'i'") == Words{"a b", "c d", "e f", "", "ghi"});
  CHECK(words_of("a '\\' \"\\\"\" $HOME *") == Words{"a", "\\", "\"", "$HOME", "*"});
  for (const char* const text : {"", "  ", "'a", "\"a", "''"}) CHECK_THROWS_AS(words_of(text), Error);
}

TEST_CASE("a program that goes on writing, or says nothing, is ended") {
  CHECK(output_of({"printf", "x"}, std::chrono::seconds(10)) == "x");
  CHECK_THROWS_AS(output_of({"yes"}, std::chrono::seconds(10)), Error);
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(output_of({"sleep", "60"}, std::chrono::milliseconds(200)), Error);
  CHECK_THROWS_AS(output_of({"sh", "-c", "exec >&-; sleep 60"}, std::chrono::milliseconds(200)), Error);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("times are read with fractions and zones, and anything else is none") {
  CHECK(nanoseconds_of(iso_time("2026-01-31T12:00:00Z")) == 1769860800'000'000'000);
  CHECK(nanoseconds_of(iso_time("2026-01-31T12:00:00.25Z")) == 1769860800'250'000'000);
  CHECK(nanoseconds_of(iso_time("2026-01-31T13:30:00+01:30")) == 1769860800'000'000'000);
  for (const char* const text : {"", "now", "2026-01-31", "2026-01-31T12:00:00x", "2026-01-31T12:00:00+1:00",
                                 "9999-01-01T00:00:00Z", "0001-01-01T00:00:00Z"}) {
    CAPTURE(text);
    CHECK_FALSE(iso_time(text).has_value());
  }
}

TEST_CASE("buckets have a host each at Amazon's, where certificates cover it, and elsewhere a part of the path") {
  CHECK(aws_place({}, "eu-west-1", "bucket").origin == "https://bucket.s3.eu-west-1.amazonaws.com");
  CHECK(aws_place({}, "eu-west-1", "bucket").path == "/");
  CHECK(aws_place({}, "cn-north-1", "bucket").host == "bucket.s3.cn-north-1.amazonaws.com.cn");
  CHECK(aws_place({}, "eu-west-1", "dotted.bucket").origin == "https://s3.eu-west-1.amazonaws.com");
  CHECK(aws_place({}, "eu-west-1", "dotted.bucket").path == "/dotted.bucket/");
  const BucketPlace own = aws_place({.url = "http://minio:9000/s3/"}, "us-east-1", "bucket");
  CHECK(own.origin == "http://minio:9000");
  CHECK(own.host == "minio:9000");
  CHECK(own.path == "/s3/bucket/");
  CHECK(aws_place({.url = "https://ceph:443", .style = AddressingStyle::virtual_host}, "x", "bucket").host ==
        "bucket.ceph");
  CHECK_THROWS_AS(aws_place({}, "evil.example/", "bucket"), Error);
  for (const char* const url :
       {"minio:9000", "ftp://h", "http://", "http://u:SECRET@h", "http://h?x", "http://h/\r\nx"}) {
    try {
      endpoint_url(url, "AWS_ENDPOINT_URL");
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("AWS_ENDPOINT_URL") != std::string::npos);
      CHECK(std::string(error.what()).find("SECRET") == std::string::npos);
    }
  }
}

TEST_CASE("addresses name a bucket or a container, and a key as it is") {
  CHECK(object_address("s3", "s3://b/a b//%2F/..").key == "a b//%2F/..");
  CHECK(bucket_address("gs", "gs://b").key.empty());
  CHECK(bucket_address("s3", "s3://b/f/").key == "f");
  CHECK_THROWS_AS(object_address("s3", "s3://b/"), Error);
  CHECK_THROWS_AS(bucket_address("s3", "s3://user:pass@b/x"), Error);
  ::unsetenv("AZURE_STORAGE_ACCOUNT");
  ::unsetenv("AZURE_STORAGE_ENDPOINT");
  CHECK(azure_address("az://acc/data/a/b").account == "acc");
  CHECK(azure_address("az://acc/data/a/b").container == "data");
  CHECK(azure_address("az://data@acc/a/b").blob == "a/b");
  CHECK(azure_address("abfss://data@acc.dfs.core.windows.net/a/b/?sig=x").account == "acc");
  CHECK(azure_address("abfss://data@acc.dfs.core.windows.net/a/b/?sig=x").blob == "a/b");
  ::setenv("AZURE_STORAGE_ACCOUNT", "acc", 1);
  CHECK(azure_address("az://data/a/b").container == "data");
  CHECK(azure_address("az://acc/data/a/b").container == "data");
  ::unsetenv("AZURE_STORAGE_ACCOUNT");
  CHECK_THROWS_AS(azure_address("az://acc"), Error);
  CHECK_THROWS_AS(azure_address("az://evil.example#/data/x"), Error);
}
