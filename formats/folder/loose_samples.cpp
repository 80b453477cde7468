#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <formats/encodings.hpp>
#include <formats/folder/folder_walk.hpp>
#include <formats/folder/loose_samples.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Network checkpoints are often stored beside their training data.
bool is_checkpoint(std::string_view extension) {
  return extension == "pt" || extension == "pth";
}

// Returns the kind of value that a file with this extension may hold. Returns nothing for files that are not samples.
std::optional<ValueKind> kind_of_sample(std::string_view extension) {
  const Encoding* encoding = encoding_with_extension(extension);
  if (encoding == nullptr || is_checkpoint(extension)) return std::nullopt;
  const bool sound = encoding->kind == ValueKind::other && !encoding->magic.empty();
  if (!encoding->media && !sound) return std::nullopt;
  return encoding->kind;
}

std::string lower_extension(std::string_view path) {
  std::string extension(path.substr(path.rfind('.') + 1));
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

}  // namespace

std::vector<std::string> loose_samples(const fs::path& folder, const std::vector<fs::path>& shards) {
  std::set<std::string, std::less<>> stems;
  for (const fs::path& shard : shards) stems.insert(shard.stem().string());
  std::map<ValueKind, std::string> first;
  std::vector<std::string> two;
  FolderVisitor visitor;
  visitor.file = [&](std::string_view path, std::uint64_t) {
    const std::string extension = lower_extension(path);
    const std::optional<ValueKind> kind = kind_of_sample(extension);
    if (!kind) return;
    const std::string_view stem = path.substr(0, path.size() - extension.size() - 1);
    if (stems.contains(stem)) return;
    const auto [known, added] = first.emplace(*kind, path);
    if (!added && two.empty()) two = {known->second, std::string(path)};
  };
  visitor.done = [&] { return !two.empty(); };
  try {
    walk_folder(folder, visitor);
  } catch (const Error&) {  // an error here must not prevent reading the shards
  }
  std::ranges::sort(two);
  return two;
}

}  // namespace penstock
