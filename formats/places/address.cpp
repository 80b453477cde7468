#include <algorithm>
#include <array>

#include <formats/io/path_inside.hpp>
#include <formats/places/address.hpp>
#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct Store {
  std::string_view scheme, copies_from, copies_to;  // copy commands of the store's tools
  std::string_view read_as = {};  // the scheme under which penstock reads it; empty: penstock cannot read it
};

constexpr std::array kStores{Store{"s3", "aws s3 sync", "aws s3 sync", "s3"},
                             Store{"s3a", "aws s3 sync", "aws s3 sync", "s3"},
                             Store{"gs", "gcloud storage rsync -r", "gcloud storage rsync -r", "gs"},
                             Store{"gcs", "gcloud storage rsync -r", "gcloud storage rsync -r", "gs"},
                             Store{"az", "azcopy copy", "azcopy copy", "az"},
                             Store{"abfs", "azcopy copy", "azcopy copy", "abfs"},
                             Store{"abfss", "azcopy copy", "azcopy copy", "abfss"},
                             Store{"hdfs", "hdfs dfs -get", "hdfs dfs -put"},
                             Store{"hf", "hf download", "hf upload"},
                             Store{"http", "wget or curl", "", "http"},
                             Store{"https", "wget or curl", "", "https"},
                             Store{"ftp", "wget or curl", ""},
                             Store{"sftp", "rsync", "rsync"},
                             Store{"ssh", "rsync", "rsync"}};

// Returns "s3" for "s3://bucket/train" and for "S3://bucket/train". Empty for a path.
std::string scheme_of(std::string_view text) {
  const std::size_t colon = text.find(":/");
  if (colon == std::string_view::npos || colon < 2) return {};
  std::string scheme(text.substr(0, colon));
  for (char& c : scheme) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!fits) return {};
  }
  return scheme;
}

// Returns an empty Store if no store has this scheme.
Store store_of(std::string_view scheme) {
  const auto* const found =
      std::find_if(kStores.begin(), kStores.end(), [&](const Store& store) { return store.scheme == scheme; });
  return found != kStores.end() ? *found : Store{"", "", ""};
}

// Returns whether the text is an address. An unknown scheme must have two slashes.
bool is_address(std::string_view text, std::string_view scheme) {
  return !scheme.empty() &&
         (!store_of(scheme).copies_from.empty() || scheme == "file" || text.substr(scheme.size()).starts_with("://"));
}

// If a folder has that name, the text is a path: "s3:" in "s3:/bucket".
bool begins_on_disk(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(*path.begin(), ignored));
}

// Returns where the query of an address begins. For buckets "?" is a wildcard, unless a "=" follows.
std::size_t query_of(std::string_view text, std::string_view scheme) {
  const std::size_t begins = text.find_first_of(scheme.starts_with("http") ? "?#" : "?");
  const bool bucket = scheme == "s3" || scheme == "s3a" || scheme == "gs" || scheme == "gcs";
  if (begins == std::string_view::npos || (bucket && text.find('=', begins) == std::string_view::npos))
    return text.size();
  return begins;
}

// Removes possible secrets from an address: user name, password and query.
std::string shown(std::string_view address, std::string_view scheme) {
  std::string text(address.substr(0, query_of(address, scheme)));
  const std::size_t begin = std::min(text.find_first_not_of('/', text.find(":/") + 1), text.size());
  const std::string_view host = std::string_view(text).substr(begin, text.find('/', begin) - begin);
  const std::size_t at = host.rfind('@');
  if (at == std::string_view::npos) return has_odd_port(host) ? text.substr(0, begin) + "..." : text;
  // "abfss://container@account.dfs.core.windows.net/train"
  const bool of_container = (scheme == "az" || scheme.starts_with("abfs")) && host.find(':') > at;
  return of_container ? text : text.erase(begin, at + 1);
}

[[noreturn]] void refuse_address(const fs::path& path, const std::string& cause) {
  throw Error::unsupported(cause, {.dataset = shown_place(path)});
}

std::string tool_named(std::string_view tool) {
  return tool.empty() ? "the store's own tool" : std::string(tool);
}

// Returns nothing for a path.
std::optional<Store> store_named_by(const fs::path& path) {
  const std::string scheme = scheme_of(path.native());
  if (!is_address(path.native(), scheme) || begins_on_disk(path)) return std::nullopt;
  if (scheme == "file") refuse_address(path, "pass the path without file://");
  return store_of(scheme);
}

}  // namespace

std::optional<fs::path> address_of(const fs::path& place) {
  const auto store = store_named_by(place);
  if (!store) return std::nullopt;
  if (store->read_as.empty()) {
    refuse_address(
        place,
        "penstock reads files, and objects of S3, Google Cloud, Azure and web servers: copy the data to a disk with " +
            tool_named(store->copies_from) +
            ", or mount the store, and open the path there "
            "(penstock stage copies from a mount to the node's own disk)");
  }
  std::string_view rest = std::string_view(place.native()).substr(place.native().find(":/") + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty()) throw Error::invalid_argument("names no bucket or host", {.dataset = shown_place(place)});
  if (rest.find('\0') != std::string_view::npos) throw Error::invalid_argument("the address contains a zero byte");
  return fs::path(object_store().admit(std::string(store->read_as) + "://" + std::string(rest)));
}

bool is_address(const fs::path& place) {
  const std::string_view text = place.native();
  const std::string scheme = scheme_of(text);
  return !scheme.empty() && !store_of(scheme).read_as.empty() && text.substr(scheme.size()).starts_with("://") &&
         !begins_on_disk(place);
}

bool has_odd_port(std::string_view host) {
  if (host.starts_with('[')) host.remove_prefix(std::min(host.find(']'), host.size()));
  const std::size_t colon = host.find(':');
  return colon != std::string_view::npos && host.find_first_not_of("0123456789", colon + 1) != std::string_view::npos;
}

std::string scheme_of_place(const fs::path& place) {
  return scheme_of(place.native());
}

std::string shown_place(const fs::path& place) {
  const std::string scheme = scheme_of(place.native());
  return is_address(place.native(), scheme) ? shown(place.native(), scheme) : place.string();
}

bool lists_nothing(const fs::path& address) {
  return address.native().starts_with("http://") || address.native().starts_with("https://");
}

fs::path place_inside(const fs::path& folder, std::string_view name) {
  fs::path whole = path_inside(folder, name);
  constexpr std::string_view kOfUrls = "?#\\";
  const bool odd = std::any_of(name.begin(), name.end(), [&](unsigned char c) {
    return c < 0x20 || c == 0x7F ||
           (lists_nothing(folder) && kOfUrls.find(static_cast<char>(c)) != std::string_view::npos);
  });
  if (odd && is_address(folder)) throw Error::corrupt("the index contains a name that no object can have");
  return whole;
}

void require_writable_place(const fs::path& path) {
  if (const auto store = store_named_by(path))
    refuse_address(path, "penstock writes files: write to a disk, and copy them with " + tool_named(store->copies_to));
}

}  // namespace penstock
