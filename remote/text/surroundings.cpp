#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <span>

#include <fcntl.h>

#include <formats/io/descriptor.hpp>
#include <penstock/error.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostSettings = 1 << 20;

}  // namespace

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

bool is_switched_on(const char* name) {
  std::string value = variable(name).value_or("");
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

std::optional<std::string> small_file(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw Error::io(errno, path.string() + " cannot be opened");
  }
  const Descriptor file(fd);
  std::string text(kMostSettings + 1, '\0');
  text.resize(read_at(file.get(), std::as_writable_bytes(std::span(text)), 0, path));
  if (text.size() > kMostSettings) throw Error::resource(path.string() + " has more than 1 MiB");
  return text;
}

std::filesystem::path in_home(const std::string& path) {
  if (!path.starts_with("~/")) return path;
  return std::filesystem::path(variable("HOME").value_or("/")) / path.substr(2);
}

}  // namespace penstock
