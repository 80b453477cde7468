#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/io/descriptor.hpp>
#include <formats/io/file_identity.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/hash.hpp>
#include <formats/io/hidden_folder.hpp>
#include <formats/io/own_files.hpp>
#include <formats/io/path_pattern.hpp>
#include <formats/io/temporary_place.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <formats/packed/journal.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/parts.hpp>
#include <formats/places/store_destination.hpp>
#include <formats/rows/read_table.hpp>
#include <pack/compressed_file.hpp>
#include <pack/pack_source.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".penstock-unpacked-";

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_shard_name(const std::string& given) {
  const std::string name = lower_case(given);
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  return ends(".tar") || ends(".tar.gz") || ends(".tgz") || name.find("tfrec") != std::string::npos;
}

std::string plain_name(const std::string& name) {
  static constexpr std::array<std::string_view, 4> kEndings{".gz", ".zlib", ".zz", ".z"};
  const std::string lower = lower_case(name);
  if (lower.ends_with(".tgz")) return name.substr(0, name.size() - 4) + ".tar";
  for (const std::string_view ending : kEndings) {
    if (lower.ends_with(ending) && lower.size() > ending.size()) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

struct SourceFile {
  fs::path path;
  FileCompression compression = FileCompression::none;
};

bool any_compressed(const std::vector<SourceFile>& files) {
  return std::ranges::any_of(files, [](const SourceFile& file) { return file.compression != FileCompression::none; });
}

// Returns the shards in a folder. A folder that also holds other files is a folder of sample files, so the result is
// then empty. If some of its shards are uncompressed, opening ignores the other files, and so does this function.
std::vector<SourceFile> shards_in(const fs::path& folder) {
  if (fs::exists(folder / Manifest::kFileName) || is_unfinished(folder)) return {};
  std::vector<fs::path> paths;
  bool others = false;
  visit_names(folder, [&](const char* text) {
    const std::string name = text;
    if (name.starts_with('.') || is_own_file(name)) return true;
    std::error_code ignored;
    const bool shard = is_shard_name(name) && fs::is_regular_file(folder / name, ignored);
    if (shard) paths.push_back(folder / name);
    others = others || !shard;
    return true;
  });
  std::ranges::sort(paths, {}, [](const fs::path& path) -> const std::string& { return path.native(); });
  std::vector<SourceFile> files;
  bool plain = false;
  for (fs::path& path : paths) {
    const FileCompression compression = compression_of(path);
    plain = plain || compression == FileCompression::none;
    files.push_back({std::move(path), compression});
  }
  return others && !plain ? std::vector<SourceFile>() : files;
}

// Returns the files that `source` names, if at least one of them is compressed as a whole. Errors give an empty result,
// because opening the dataset reports them afterwards.
std::vector<SourceFile> compressed_files(const fs::path& source) {
  std::vector<SourceFile> files;
  try {
    if (fs::is_regular_file(source)) {
      files.push_back({source, compression_of(source)});
    } else if (fs::is_directory(source)) {
      files = shards_in(source);
    } else if (!fs::exists(source) && is_pattern(source.native())) {
      for (const fs::path& path : expand_pattern(source.native())) {
        if (is_own_file(path.filename().native())) continue;
        files.push_back({path, fs::is_regular_file(path) ? compression_of(path) : FileCompression::none});
      }
    }
  } catch (const fs::filesystem_error&) {
    return {};
  } catch (const Error&) {
    return {};
  }
  return any_compressed(files) ? files : std::vector<SourceFile>();
}

// Throws the errors that convert() would throw if something is in the way of the destination.
void require_free(const fs::path& given, const ConvertOptions& options) {
  if (store_destination(given) && options.world == 0)
    return DatasetWriter::require_free(given, options.format, options.overwrite, options.resume);
  const fs::path destination = without_slash(given), partial = partial_path(destination);
  const auto named = [](const fs::path& path, const auto& check) {
    try {
      check();
    } catch (const Error& error) {
      throw error.in({.dataset = path.string()});
    }
  };
  if (!options.overwrite) named(destination, [&] { require_absent(destination); });
  named(partial, [&] {
    if (options.world == 0)
      return DatasetWriter::require_free(destination, options.format, options.overwrite, options.resume);
    const PartName part{.rank = options.rank, .world = options.world};
    DatasetWriter::require_free(partial / part.text(), options.format, options.overwrite || options.resume,
                                options.resume);
  });
}

void write_piece(const Descriptor& to, std::span<const std::byte> bytes, const fs::path& folder, const fs::path& file) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(to.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw Error::io(errno, "cannot unpack into " + folder.string(), {.dataset = file.string()});
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

struct PackSource::Unpacked {
  struct File {
    fs::path given, taken;
    std::uint64_t mark;  // of `given`
  };

  explicit Unpacked(const fs::path& around) : folder(around, kPrefix) {}

  HiddenFolder folder;
  fs::path taken = {};  // replaces the source path; empty for a pattern, whose files are replaced one by one
  std::vector<File> files = {};

  void add(const SourceFile& file, const fs::path& into, const std::function<void(std::uint64_t)>& read);
};

void PackSource::Unpacked::add(const SourceFile& file, const fs::path& into,
                               const std::function<void(std::uint64_t)>& read) {
  const bool compressed = file.compression != FileCompression::none;
  const std::string name = file.path.filename().string();
  const fs::path to = into / (compressed ? plain_name(name) : name);
  const FileIdentity identity = identity_by_name(file.path).value_or(FileIdentity());
  std::uint64_t mark = hash64(name);
  for (const std::int64_t time : {identity.modified, identity.changed, static_cast<std::int64_t>(identity.size)})
    mark = mix64(mark ^ static_cast<std::uint64_t>(time));
  files.push_back({.given = file.path, .taken = to, .mark = mark});
  std::error_code failure;
  if (fs::exists(fs::symlink_status(to, failure))) {
    throw Error::invalid_argument("two source files have the name " + to.filename().string() + " after decompression",
                                  {.dataset = file.path.string()});
  }
  if (!compressed) {
    fs::create_symlink(fs::absolute(file.path), to, failure);
    if (failure) throw Error::io(failure.value(), "cannot make a link in " + into.string());
    return;
  }
  const Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const fs::path around = folder.path().parent_path();
  if (out.get() < 0) throw Error::io(errno, "cannot unpack into " + around.string(), {.dataset = file.path.string()});
  const auto take = [&](std::span<const std::byte> piece) { write_piece(out, piece, around, file.path); };
  try {
    decompress(file.path, file.compression, take, read);
  } catch (const Error& error) {
    throw error.in({.dataset = file.path.string()});
  }
}

PackSource::PackSource(fs::path path, const fs::path& destination, const ConvertOptions& options,
                       const Progress& progress)
    : path_(std::move(path)), skip_missing_(options.on_error == PackOnError::skip && is_table_name(path_)) {
  const std::vector<SourceFile> sources = compressed_files(path_);
  if (sources.empty()) return;
  require_free(destination, options);
  const fs::path beside = store_destination(destination) ? fs::path(temporary_place())
                                                         : fs::absolute(without_slash(destination)).parent_path();
  const fs::path around = options.spool.empty() ? beside : options.spool;
  try {
    unpacked_ = std::make_unique<Unpacked>(fs::absolute(around));
  } catch (const Error& error) {
    throw error.in({.dataset = path_.string()});
  }
  const fs::path& place = unpacked_->folder.path();
  const bool folder = fs::is_directory(path_), file = fs::is_regular_file(path_);
  std::uint64_t total = 0, done = 0;
  std::vector<std::uint64_t> sizes;
  for (const SourceFile& source : sources) {
    const bool compressed = source.compression != FileCompression::none;
    sizes.push_back(compressed ? identity_by_name(source.path).value_or(FileIdentity()).size : 0);
    total += sizes.back();
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto tell = [&](std::uint64_t read) {
      if (progress && !progress(done + read, std::max(total, done + read)))
        throw Error::resource("interrupted", {.dataset = path_.string()});
    };
    fs::path into = place;
    // Files of a pattern may have equal names in different folders.
    if (!folder && !file) {
      into /= std::to_string(i);
      if (::mkdir(into.c_str(), 0700) != 0)
        throw Error::io(errno, "cannot make a temporary folder in " + around.string(), {.dataset = path_.string()});
    }
    unpacked_->add(sources[i], into, tell);
    done += sizes[i];
  }
  if (folder) unpacked_->taken = place;
  if (file) unpacked_->taken = unpacked_->files.front().taken;
}

PackSource::~PackSource() = default;

Dataset PackSource::open(OpenOptions options, const OpenProgress& progress) const {
  if (skip_missing_ && options.missing_files.empty()) options.missing_files = "skip";
  if (!unpacked_) return penstock::open(path_, options, progress);
  try {
    if (!unpacked_->taken.empty()) return penstock::open(unpacked_->taken, options, progress);
    std::vector<fs::path> taken;
    for (const Unpacked::File& file : unpacked_->files) taken.push_back(file.taken);
    return open_shards(taken, path_, options, progress);
  } catch (const Error& error) {
    throw named(error);
  }
}

ConvertOptions PackSource::options(ConvertOptions options) const {
  if (!unpacked_) return options;
  std::map<fs::path, std::uint64_t> marks;
  for (const Unpacked::File& file : unpacked_->files) marks[file.taken] = file.mark;
  options.mark_of_file = [marks = std::move(marks)](const fs::path& path) {
    const auto found = marks.find(path);
    return found == marks.end() ? 0 : found->second;
  };
  return options;
}

Error PackSource::named(const Error& error) const {
  if (!unpacked_) return error;
  const auto in_words = [&](std::string text) {
    for (const Unpacked::File& file : unpacked_->files) replace_all(text, file.taken.string(), file.given.string());
    const bool folder = unpacked_->taken == unpacked_->folder.path();
    replace_all(text, unpacked_->folder.path().string(), folder ? path_.string() : path_.parent_path().string());
    return text;
  };
  ErrorContext context = error.context();
  context.dataset = in_words(context.dataset);
  context.shard = in_words(context.shard);
  return Error(error.kind(), in_words(error.cause()), context);
}

}  // namespace penstock
