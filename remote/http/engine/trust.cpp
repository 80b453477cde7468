#include <array>
#include <cstdlib>

#include <unistd.h>

#include <remote/http/engine/trust.hpp>

namespace penstock {
namespace {

constexpr std::array kBundles{"/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Gentoo
                              "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL, Fedora
                              "/etc/pki/tls/certs/ca-bundle.crt",                   // older RHEL, CentOS
                              "/etc/ssl/ca-bundle.pem",                             // SUSE
                              "/var/lib/ca-certificates/ca-bundle.pem",             // SUSE, newer
                              "/etc/ssl/cert.pem"};                                 // Alpine
constexpr std::array kFolders{"/etc/ssl/certs", "/etc/pki/tls/certs"};

std::string named_by(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? text : "";
}

}  // namespace

Trust find_trust() {
  Trust trust;
  trust.file = named_by("CURL_CA_BUNDLE");
  if (trust.file.empty()) trust.file = named_by("SSL_CERT_FILE");
  trust.folder = named_by("SSL_CERT_DIR");
  if (!trust.file.empty() || !trust.folder.empty()) return trust;
  for (const char* const file : kBundles) {
    if (::access(file, R_OK) == 0) return {.file = file};
  }
  for (const char* const folder : kFolders) {
    if (::access(folder, R_OK | X_OK) == 0) return {.folder = folder};
  }
  return {};
}

}  // namespace penstock
