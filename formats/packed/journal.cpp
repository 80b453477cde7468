#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/packed/journal.hpp>
#include <formats/packed/parts.hpp>
#include <formats/text/json_cause.hpp>
#include <formats/text/json_depth.hpp>
#include <formats/text/json_number.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The line has already been parsed as a shard's description.
std::uint64_t skipped_in(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    return json.contains("skipped") ? whole_number(json.at("skipped")) : 0;
  } catch (const Json::exception& error) {
    throw Error::corrupt(json_cause(error));
  }
}

std::uint64_t source_in(const std::string& line) {
  const Json json = Json::parse(line);
  return json.contains("source") ? whole_number(json.at("source")) : 0;
}

Descriptor open_locked(const fs::path& path, int flags) {
  Descriptor file = Descriptor::open(path, O_RDWR | O_APPEND | O_NOFOLLOW | flags);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error::invalid_argument("another process is packing into " + path.parent_path().string());
  }
  return file;
}

std::string read_text(const Descriptor& file, const fs::path& path) {
  std::string text;
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  while (const std::size_t got = read_at(file.get(), buffer, text.size(), path)) {
    text.append(reinterpret_cast<const char*>(buffer.data()), got);
  }
  return text;
}

}  // namespace

bool Journal::is_in(const fs::path& folder) {
  std::error_code missing;
  const std::uintmax_t bytes = fs::file_size(folder / kFileName, missing);
  return !missing && bytes != 0;
}

Journal Journal::begin(const fs::path& folder, const std::string& options) {
  const fs::path path = folder / kFileName;
  Journal journal(path, open_locked(path, O_CREAT | O_EXCL));
  journal.options_ = options;
  journal.append(options, false);
  return journal;
}

Journal Journal::resume(const fs::path& folder) {
  const fs::path path = folder / kFileName;
  Journal journal(path, open_locked(path, 0));
  const std::string text = read_text(journal.file_, path);
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; start = end + 1, end = text.find('\n', start)) {
    const std::string line = text.substr(start, end - start);
    try {
      require_shallow_json(line);
      if (start == 0) {
        journal.options_ = line;
      } else {
        const ManifestShard shard = shard_from_json(line);
        const std::uint64_t skipped = skipped_in(line), source = source_in(line);
        journal.shards_.push_back(shard);
        journal.skipped_.push_back(skipped);
        journal.sources_.push_back(source);
      }
    } catch (const Error&) {
      break;  // lines after a broken one are not trusted: those shards are packed again
    }
    journal.ends_.push_back(end + 1);
  }
  if (journal.options_.empty()) {
    throw Error::corrupt("the journal of the unfinished dataset is empty", {.shard = path.string()});
  }
  journal.keep(journal.shards_.size());
  return journal;
}

void Journal::require_unused(const fs::path& folder) {
  open_locked(folder / kFileName, 0);
}

void Journal::add(const ManifestShard& shard, std::uint64_t skipped, std::uint64_t source, bool fsyncs) {
  // Locks do not work between hosts on every file system. But if another process wrote to the journal, its length
  // differs.
  struct stat now {};
  if (::fstat(file_.get(), &now) != 0) throw Error::io(errno, "cannot stat " + path_.string());
  if (now.st_nlink == 0 || static_cast<std::uint64_t>(now.st_size) != ends_.back()) {
    throw Error::invalid_argument("another process is packing into " + path_.parent_path().string());
  }
  Json line = Json::parse(to_json(shard));
  if (skipped != 0) line["skipped"] = skipped;
  if (source != 0) line["source"] = source;
  append(line.dump(), fsyncs);
  shards_.push_back(shard);
  skipped_.push_back(skipped);
  sources_.push_back(source);
}

void Journal::keep(std::size_t count) {
  shards_.resize(count);
  skipped_.resize(count);
  sources_.resize(count);
  ends_.resize(count + 1);
  if (::ftruncate(file_.get(), static_cast<off_t>(ends_.back())) != 0) {
    throw Error::io(errno, "cannot write " + path_.string());
  }
  sync(file_.get(), path_);
}

void Journal::append(const std::string& line, bool fsyncs) {
  const std::string text = line + "\n";
  write_all(file_.get(), std::as_bytes(std::span(text.data(), text.size())), path_);
  if (fsyncs) sync(file_.get(), path_);
  ends_.push_back((ends_.empty() ? 0 : ends_.back()) + text.size());
}

bool is_unfinished(const fs::path& folder) {
  std::error_code ignored;
  const bool begun = fs::exists(folder / Journal::kFileName, ignored) || holds_parts(folder);
  return begun && !fs::exists(folder / Manifest::kFileName, ignored);
}

}  // namespace penstock
