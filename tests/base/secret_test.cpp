// Tests digests against published vectors.
#include <string>

#include <doctest/doctest.h>

#include <base/secrets/secret.hpp>

namespace penstock::test::secret_test {
namespace {

std::string hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

}  // namespace

// Source: FIPS 180-2, appendix B, and NIST's example of an empty message.
TEST_CASE("SHA-256 gives the digests of the standard") {
  CHECK(hex(sha256_of("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256_of("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(sha256_of(std::string(1000000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Source: RFC 4231, test cases 1, 2 and 6.
TEST_CASE("HMAC-SHA-256 gives the digests of the standard") {
  CHECK(hex(hmac_of(std::string(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(hmac_of("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(hmac_of(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("secrets are equal only if all bytes are") {
  CHECK(same_secret("", ""));
  CHECK(same_secret("token", "token"));
  CHECK_FALSE(same_secret("token", "tokem"));
  CHECK_FALSE(same_secret("token", "toke"));
  CHECK(random_bytes(16) != random_bytes(16));
}

}  // namespace penstock::test::secret_test
