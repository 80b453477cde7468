#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <penstock/formats/error.hpp>
#include <penstock/formats/folder.hpp>
#include <penstock/formats/folder_names.hpp>
#include <penstock/formats/folder_walk.hpp>
#include <penstock/formats/hash.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct File {
  std::string path;
  std::uint64_t size;
  std::uint32_t key_length;  // the key is the start of the path
  bool media;

  std::string_view key() const { return std::string_view(path).substr(0, key_length); }
  std::string_view extension() const { return std::string_view(path).substr(key_length + 1); }
  std::string_view first_folder() const { return std::string_view(path).substr(0, path.find('/')); }
  bool top_level() const { return path.find('/') == std::string::npos; }
};

bool is_clutter(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "Thumbs.db" || name == "desktop.ini";
}

// What lies in a folder, sorted: files by key, then path; first-level folders by name.
struct Listing {
  std::vector<File> files;
  std::vector<std::string> first_level;
  std::uint64_t left_out = 0;

  Listing(const fs::path& root, const OpenProgress& progress) {
    const FolderVisitor visitor{.file =
                                    [&](std::string_view path, std::uint64_t size) {
                                      add(path, size);
                                      if (progress && files.size() % 4096 == 0) progress(files.size(), 0);
                                    },
                                .folder =
                                    [&](std::string_view path) {
                                      if (path.find('/') == std::string_view::npos) first_level.emplace_back(path);
                                    }};
    walk_folder(root, visitor);
    std::sort(first_level.begin(), first_level.end());
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
      return std::tuple(a.key(), std::string_view(a.path)) < std::tuple(b.key(), std::string_view(b.path));
    });
    leave_out_notes();
  }

  bool shares_key(std::size_t i) const {
    return (i > 0 && files[i - 1].key() == files[i].key()) ||
           (i + 1 < files.size() && files[i + 1].key() == files[i].key());
  }

  bool is_class_folders() const {
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].top_level() || !files[i].media || shares_key(i)) return false;
    }
    return true;
  }

 private:
  void add(std::string_view path, std::uint64_t size) {
    const FileName name = split_file_name(path);
    if (name.extension.empty() || is_clutter(path)) {
      ++left_out;
      return;
    }
    files.push_back({.path = std::string(path),
                     .size = size,
                     .key_length = static_cast<std::uint32_t>(name.key.size()),
                     .media = is_media(name.extension)});
  }

  // README.md and the like: see the rule in folder.hpp.
  void leave_out_notes() {
    if (std::none_of(files.begin(), files.end(), [](const File& file) { return file.media; })) return;
    std::vector<bool> note(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) note[i] = files[i].top_level() && !files[i].media && !shares_key(i);
    std::size_t i = 0;
    left_out += std::erase_if(files, [&](const File&) { return note[i++]; });
  }
};

class FolderIndexer {
 public:
  FolderIndexer(const fs::path& folder, const OpenProgress& progress) : listing_(folder, progress) {
    if (listing_.files.empty()) {
      throw Error::invalid_argument(
          "the folder holds no file that can be a sample (hidden files and files without an "
          "extension do not count): " +
          folder.string());
    }
  }

  Index index() && {
    const bool classes = listing_.is_class_folders();
    if (classes) number_classes();
    for (const File& file : listing_.files) {
      add(file);
      if (classes) add_class(file.first_folder());
    }
    nlohmann::json attributes{{"layout", classes ? "class folders" : "shared stems"}, {"left_out", listing_.left_out}};
    if (classes) attributes["classes"] = listing_.first_level;
    builder_.set_attributes(attributes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return std::move(builder_).finish();
  }

 private:
  void number_classes() {
    for (std::size_t i = 0; i < listing_.first_level.size(); ++i) {
      class_of_.emplace(listing_.first_level[i], std::to_string(i));
    }
  }

  void add(const File& file) {
    if (builder_.size() == 0 || file.key() != previous_->key()) builder_.add_sample(file.key());
    const std::uint32_t field = builder_.field(field_from_extension(file.extension()));
    if (builder_.has(field)) {
      throw Error::corrupt("two files are the same field of one sample: " + first_of(file).path + " and " + file.path,
                           {.key = std::string(file.key())});
    }
    builder_.set(field, Extent{.file = builder_.add_file({file.path, file.size, 0}), .offset = 0, .length = file.size});
    previous_ = &file;
  }

  // The first file of the same sample that is the same field.
  const File& first_of(const File& file) const {
    const std::string name = field_from_extension(file.extension()).name;
    return *std::find_if(listing_.files.begin(), listing_.files.end(), [&](const File& other) {
      return other.key() == file.key() && field_from_extension(other.extension()).name == name;
    });
  }

  void add_class(std::string_view folder) {
    const std::string& number = class_of_.at(std::string(folder));
    const Piece piece{.kind = Piece::Kind::bytes,
                      .length = number.size(),
                      .inline_bytes = std::as_bytes(std::span(number.data(), number.size()))};
    builder_.set(builder_.field({.name = "cls", .codec = "cls"}), std::span(&piece, 1));
  }

  Listing listing_;
  IndexBuilder builder_;
  const File* previous_ = nullptr;
  std::unordered_map<std::string, std::string> class_of_;
};

std::vector<fs::path> find_folder(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) return {};
  for (const fs::directory_entry& entry : fs::directory_iterator(path, failure)) {
    if (entry.path().filename().string().front() != '.') return {path};
  }
  return {};
}

Index index_folder(const fs::path& shard, const fs::path&, const OpenProgress& progress) {
  return FolderIndexer(shard, progress).index();
}

// A sum, so that the order in which the folder is listed does not matter.
std::uint64_t stamp_folder(const fs::path& shard) {
  std::uint64_t sum = 0;
  walk_folder(shard,
              {.file = [&](std::string_view path, std::uint64_t size) { sum += mix64(hash64(path) ^ mix64(size + 1)); },
               .folder = [&](std::string_view path) { sum += mix64(hash64(path)); }});
  return sum;
}

}  // namespace

constinit const Format kFolder{.name = "folder",
                               .extension = "",
                               .find_shards = find_folder,
                               .index = index_folder,
                               .stamp = stamp_folder,
                               .write = nullptr};

}  // namespace penstock
