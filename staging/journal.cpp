#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <formats/io/hash.hpp>
#include <penstock/error.hpp>
#include <staging/journal.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kOrigin = "penstock_stage";

std::string text_of(const Descriptor& file, const fs::path& path) {
  std::string text;
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  while (const std::size_t got = read_at(file.get(), buffer, text.size(), path))
    text.append(reinterpret_cast<const char*>(buffer.data()), got);
  return text;
}

// Returns nothing for a damaged line.
std::optional<Json> parsed(std::string_view line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

std::optional<StageJournal::Origin> origin_of(const Json& json) {
  if (!json.contains(kOrigin)) return std::nullopt;
  return StageJournal::Origin{.source = json.at("source").get<std::string>(),
                              .fingerprint = json.at("fingerprint").get<std::uint64_t>()};
}

template <typename Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  for (std::size_t start = 0, end = text.find('\n'); end != std::string_view::npos;
       start = end + 1, end = text.find('\n', start)) {
    const auto json = parsed(text.substr(start, end - start));
    if (!json) continue;
    try {
      visit(*json);
    } catch (const Json::exception&) {  // of an unknown version: its files are copied again
    }
  }
}

}  // namespace

std::optional<StageJournal::Origin> StageJournal::origin_in(const fs::path& journal) {
  std::error_code ignored;
  if (!fs::exists(journal, ignored)) return std::nullopt;
  std::optional<Origin> origin;
  for_each_line(text_of(Descriptor::open(journal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK), journal), [&](const Json& json) {
    if (auto told = origin_of(json)) origin = std::move(told);
  });
  return origin;
}

StageJournal::StageJournal(fs::path path, const Origin& origin)
    : path_(std::move(path)), file_(Descriptor::open(path_, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW)) {
  const std::string text = text_of(file_, path_);
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (::ftruncate(file_.get(), static_cast<off_t>(whole)) != 0)
    throw Error::io(errno, "cannot write " + path_.string());
  read(text);
  if (origin_ == origin) return;
  append(Json{{kOrigin, 1}, {"source", origin.source}, {"fingerprint", origin.fingerprint}}.dump(
      -1, ' ', false, Json::error_handler_t::replace));
}

void StageJournal::read(const std::string& text) {
  for_each_line(text, [&](const Json& json) {
    if (auto told = origin_of(json)) {
      origin_ = std::move(told);
      return;
    }
    entries_[json.at("file").get<std::string>()].push_back({.size = json.at("size").get<std::uint64_t>(),
                                                            .modified = json.at("modified").get<std::int64_t>(),
                                                            .mark = {.bytes = json.at("bytes").get<std::uint64_t>(),
                                                                     .crc32c = json.at("crc32c").get<std::uint32_t>(),
                                                                     .whole = json.at("whole").get<bool>()}});
  });
}

std::optional<StageJournal::Mark> StageJournal::whole(const StageFile& file) const {
  const auto found = entries_.find(file.name);
  if (found == entries_.end()) return std::nullopt;
  const Entry& last = found->second.back();  // a checkpoint after it belongs to a copy that was restarted
  if (!last.mark.whole || last.size != file.size || last.modified != file.modified) return std::nullopt;
  return last.mark;
}

std::vector<StageJournal::Mark> StageJournal::checkpoints(const StageFile& file) const {
  std::vector<Mark> marks;
  const auto found = entries_.find(file.name);
  if (found == entries_.end()) return marks;
  for (const Entry& entry : found->second) {
    const bool same = entry.size == file.size && entry.modified == file.modified;
    if (same && !entry.mark.whole) marks.push_back(entry.mark);
  }
  std::ranges::stable_sort(marks, {}, &Mark::bytes);
  return marks;
}

std::vector<std::string> StageJournal::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entries] : entries_) names.push_back(name);
  return names;
}

void StageJournal::add(const StageFile& file, const Mark& mark) {
  append(Json{{"file", file.name},
              {"size", file.size},
              {"modified", file.modified},
              {"bytes", mark.bytes},
              {"crc32c", mark.crc32c},
              {"whole", mark.whole}}
             .dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Not synced: if a crash loses lines, the files are copied again.
void StageJournal::append(const std::string& line) {
  const std::string text = line + "\n";
  const std::lock_guard lock(mutex_);
  write_all(file_.get(), std::as_bytes(std::span(text.data(), text.size())), path_);
}

}  // namespace penstock
