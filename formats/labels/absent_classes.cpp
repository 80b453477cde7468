#include <vector>

#include <base/printable.hpp>
#include <formats/extent.hpp>
#include <formats/folder/folder_names.hpp>
#include <formats/format.hpp>
#include <formats/labels/absent_classes.hpp>

namespace penstock {
namespace {

// Returns the name of a field's file as in the folder. In an archive, files are known only by key and field.
std::string file_name(const Dataset& dataset, std::uint64_t sample, std::uint32_t field) {
  std::vector<Piece> pieces;
  if (format_of(dataset).loose && dataset.locate(sample, field, pieces) && !pieces.empty() &&
      pieces.front().kind == Piece::Kind::extent) {
    const std::string path = dataset.file(pieces.front().extent.file).path.string();
    const std::string root = (dataset.path() / "").string();
    if (path.starts_with(root)) return path.substr(root.size());
  }
  return std::string(dataset.key(sample)) + "." + dataset.fields()[field].name;
}

struct Files {
  std::vector<std::uint32_t> media, others;  // numbers of fields
};

Files files_of(const Dataset& dataset, std::uint64_t sample) {
  Files files;
  std::vector<Piece> pieces;
  for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
    pieces.clear();
    if (!dataset.locate(sample, field, pieces)) continue;
    (is_media(dataset.fields()[field].name) ? files.media : files.others).push_back(field);
  }
  return files;
}

// Describes why the sample's folder cannot be its class. Empty if nothing prevents it.
std::string in_the_way(const Dataset& dataset, std::uint64_t sample, const Files& files) {
  const auto name = [&](std::uint32_t field) { return double_quoted(file_name(dataset, sample, field)); };
  std::vector<std::uint32_t> all = files.media;
  all.insert(all.end(), files.others.begin(), files.others.end());
  if (all.size() > 1)
    return name(all[0]) + " and " + name(all[1]) + " differ only in their extensions, so they are one sample";
  if (files.media.empty()) return name(all.front()) + " is not an image, array or cloud";
  if (dataset.key(sample).find('/') == std::string_view::npos) return name(all.front()) + " is not in a class folder";
  return {};
}

AbsentClasses in_folders(const Dataset& dataset) {
  AbsentClasses absent;
  std::uint64_t well = 0;
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    const Files files = files_of(dataset, sample);
    if (files.media.empty() && files.others.empty()) continue;
    const std::string obstacle = in_the_way(dataset, sample, files);
    if (obstacle.empty()) ++well;
    if (absent.cause.empty()) absent.cause = obstacle;
  }
  absent.almost = !absent.cause.empty() && 2 * well > dataset.size();
  return absent;
}

}  // namespace

AbsentClasses absent_classes(const Dataset& dataset) {
  if (dataset.packed() || dataset.size() == 0 || dataset.field("cls")) return {};
  const Format& format = format_of(dataset);
  if (format.folders == Format::Folders::classes) return in_folders(dataset);
  if (format.folders == Format::Folders::none || dataset.key(0).find('/') == std::string_view::npos) return {};
  return {.cause = "folders inside a " + std::string(format.name) +
                   " are not labels: unpack it and open the folder, or add a member .cls to each sample",
          .almost = false};
}

}  // namespace penstock
