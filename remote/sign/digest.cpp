#include <algorithm>
#include <cstddef>
#include <memory>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <penstock/error.hpp>
#include <remote/sign/digest.hpp>

namespace penstock {
namespace {

// Looked up once: a lookup by name takes longer than a short digest.
const EVP_MD* fetched_sha256() {
  static EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  if (found == nullptr) throw Error::unsupported("libcrypto has no SHA-256");
  return found;
}

std::string digest_of(const EVP_MD* kind, std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &length, kind, nullptr) != 1)
    throw Error::resource("libcrypto computed no digest");
  return {reinterpret_cast<const char*>(digest), length};
}

std::string base64_by(const char* alphabet, bool padded, std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t taken = std::min<std::size_t>(3, bytes.size() - at);
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < taken ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) {
      if (i <= taken) {
        text += alphabet[group >> (18 - 6 * i) & 63];
      } else if (padded) {
        text += '=';
      }
    }
  }
  return text;
}

struct FreesCrypto {
  void operator()(BIO* bytes) const { BIO_free(bytes); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* state) const { EVP_MD_CTX_free(state); }
};

}  // namespace

std::string sha256(std::string_view bytes) {
  return digest_of(fetched_sha256(), bytes);
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (HMAC(fetched_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest, &length) == nullptr)
    throw Error::resource("libcrypto computed no HMAC");
  return {reinterpret_cast<const char*>(digest), length};
}

std::string md5(std::string_view bytes) {
  static EVP_MD* const found = EVP_MD_fetch(nullptr, "MD5", nullptr);
  return found == nullptr ? std::string() : digest_of(found, bytes);
}

std::string base64(std::string_view bytes) {
  return base64_by("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", true, bytes);
}

std::string base64_url(std::string_view bytes) {
  return base64_by("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", false, bytes);
}

std::string rs256(std::string_view pem_key, std::string_view bytes) {
  const std::unique_ptr<BIO, FreesCrypto> text(BIO_new_mem_buf(pem_key.data(), static_cast<int>(pem_key.size())));
  const std::unique_ptr<EVP_PKEY, FreesCrypto> key(text ? PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr)
                                                        : nullptr);
  const std::unique_ptr<EVP_MD_CTX, FreesCrypto> state(EVP_MD_CTX_new());
  std::size_t length = 0;
  const auto* const input = reinterpret_cast<const unsigned char*>(bytes.data());
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA || !state ||
      EVP_DigestSignInit(state.get(), nullptr, fetched_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(state.get(), nullptr, &length, input, bytes.size()) != 1)
    throw Error::invalid_argument("the private key is not an RSA key in PEM format");
  std::string signature(length, '\0');
  if (EVP_DigestSign(state.get(), reinterpret_cast<unsigned char*>(signature.data()), &length, input, bytes.size()) !=
      1)
    throw Error::resource("libcrypto made no signature");
  signature.resize(length);
  return signature;
}

}  // namespace penstock
