#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <penstock/base/error.hpp>
#include <penstock/formats/io/store_address.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct Store {
  std::string_view scheme, copies_from, copies_to;  // commands of the store
};

constexpr std::array kStores{Store{"s3", "aws s3 sync", "aws s3 sync"},
                             Store{"s3a", "aws s3 sync", "aws s3 sync"},
                             Store{"gs", "gcloud storage rsync -r", "gcloud storage rsync -r"},
                             Store{"gcs", "gcloud storage rsync -r", "gcloud storage rsync -r"},
                             Store{"az", "azcopy copy", "azcopy copy"},
                             Store{"abfs", "azcopy copy", "azcopy copy"},
                             Store{"abfss", "azcopy copy", "azcopy copy"},
                             Store{"hdfs", "hdfs dfs -get", "hdfs dfs -put"},
                             Store{"hf", "hf download", "hf upload"},
                             Store{"http", "wget or curl", ""},
                             Store{"https", "wget or curl", ""},
                             Store{"ftp", "wget or curl", ""},
                             Store{"sftp", "rsync", "rsync"},
                             Store{"ssh", "rsync", "rsync"}};

// "s3" of "s3://bucket/train"; empty of a path.
std::string_view scheme_of(std::string_view text) {
  const std::size_t colon = text.find(":/");
  if (colon == std::string_view::npos || colon < 2) return {};
  const std::string_view scheme = text.substr(0, colon);
  const auto fits = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  return std::all_of(scheme.begin(), scheme.end(), fits) ? scheme : std::string_view{};
}

// Of a scheme that no store here has: all zero but for the scheme.
Store store_of(std::string_view scheme) {
  const auto* const found =
      std::find_if(kStores.begin(), kStores.end(), [&](const Store& store) { return store.scheme == scheme; });
  return found != kStores.end() ? *found : Store{scheme, "", ""};
}

// Whether the text is an address, which of another scheme than the known ones shows in its two slashes.
bool is_address(std::string_view text, std::string_view scheme) {
  return !scheme.empty() &&
         (!store_of(scheme).copies_from.empty() || scheme == "file" || text.substr(scheme.size()).starts_with("://"));
}

// A folder of that name makes the text a path: "s3:" of "s3:/bucket".
bool begins_on_disk(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(*path.begin(), ignored));
}

[[noreturn]] void refuse_address(const fs::path& path, const std::string& cause) {
  throw Error::unsupported(cause, {.dataset = path.string()});
}

std::string tool_named(std::string_view tool) {
  return tool.empty() ? "the store's own tool" : std::string(tool);
}

// None of a path.
std::optional<Store> store_named_by(const fs::path& path) {
  const std::string_view scheme = scheme_of(path.native());
  if (!is_address(path.native(), scheme) || begins_on_disk(path)) return std::nullopt;
  if (scheme == "file") refuse_address(path, "give the path alone, without file://");
  return store_of(scheme);
}

}  // namespace

void require_readable_place(const fs::path& path) {
  if (const auto store = store_named_by(path)) {
    refuse_address(path, "penstock reads files: copy these to a disk with " + tool_named(store->copies_from) +
                             ", or mount the store, and open the path there (penstock stage copies from a mount to the "
                             "node's own disk)");
  }
}

void require_writable_place(const fs::path& path) {
  if (const auto store = store_named_by(path))
    refuse_address(path, "penstock writes files: write to a disk, and copy them with " + tool_named(store->copies_to));
}

}  // namespace penstock
