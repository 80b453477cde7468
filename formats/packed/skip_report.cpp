#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>

#include <fcntl.h>
#include <unistd.h>

#include <formats/packed/skip_report.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string line_of(const SkippedSample& sample) {
  const Json json{{"sample", sample.sample}, {"key", sample.key}, {"field", sample.field}, {"cause", sample.cause}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

void SkipReport::keep(std::uint64_t lines) {
  const std::string text = read_skip_report(path_.parent_path());
  std::size_t end = 0;
  for (lines_ = 0; lines_ < lines; ++lines_) {
    end = text.find('\n', end) + 1;
    if (end == 0) throw Error::corrupt("has lost lines since it was written", {.shard = path_.string()});
  }
  if (end == 0) {
    fs::remove(path_);
    return;
  }
  if (::truncate(path_.c_str(), static_cast<off_t>(end)) != 0) throw Error::io(errno, "cannot write " + path_.string());
}

void SkipReport::add(const SkippedSample& sample) {
  if (file_.get() < 0) file_ = Descriptor::open(path_, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW);
  const std::string line = line_of(sample);
  write_all(file_.get(), std::as_bytes(std::span(line.data(), line.size())), path_);
  ++lines_;
  dirty_ = true;
}

void SkipReport::sync() {
  if (dirty_) penstock::sync(file_.get(), path_);
  dirty_ = false;
}

std::string read_skip_report(const fs::path& folder) {
  const fs::path path = folder / SkipReport::kFileName;
  std::string text;
  if (!fs::exists(path)) return text;
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  while (const std::size_t got = read_at(file.get(), buffer, text.size(), path)) {
    text.append(reinterpret_cast<const char*>(buffer.data()), got);
  }
  return text;
}

std::uint64_t count_lines(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

std::vector<SkippedSample> skipped_samples(std::string_view text) {
  std::vector<SkippedSample> samples;
  for (std::size_t begin = 0, end = text.find('\n'); end != std::string_view::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    const Json line = Json::parse(text.substr(begin, end - begin), nullptr, false);
    const auto text_of = [&](const char* name) {
      return line.contains(name) && line[name].is_string() ? line[name].get<std::string>() : std::string();
    };
    if (!line.is_object() || !line.contains("key") || !line["key"].is_string())
      throw Error::corrupt("a line does not describe a sample that was left out",
                           {.shard = std::string(SkipReport::kFileName)});
    const bool numbered = line.contains("sample") && line["sample"].is_number_unsigned();
    samples.push_back({.sample = numbered ? line["sample"].get<std::uint64_t>() : 0,
                       .key = text_of("key"),
                       .field = text_of("field"),
                       .cause = text_of("cause")});
  }
  return samples;
}

}  // namespace penstock
