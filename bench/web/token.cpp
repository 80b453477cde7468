#include <array>
#include <cerrno>

#include <sys/random.h>

#include <base/printable.hpp>
#include <bench/web/token.hpp>
#include <penstock/error.hpp>

namespace penstock {

std::string random_token() {
  std::array<char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error::io(errno, "cannot get random bytes");
  return hexadecimal({bytes.data(), bytes.size()});
}

bool same_token(std::string_view given, std::string_view token) {
  if (given.size() != token.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < token.size(); ++i) different |= static_cast<unsigned>(given[i] ^ token[i]);
  return different == 0;
}

}  // namespace penstock
