#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>

#include <base/waits/interruption.hpp>
#include <formats/extent.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/descriptor.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/hash.hpp>
#include <formats/io/path_inside.hpp>
#include <formats/packed/dataset_upload.hpp>
#include <formats/packed/journal.hpp>
#include <formats/packed/skip_report.hpp>
#include <formats/places/object_store.hpp>
#include <formats/places/read_range.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{4} << 20;  // passed to an upload in one call
constexpr std::uint64_t kLargestIndex = std::uint64_t{4} << 30;

std::string new_run() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) throw Error::io(errno, "cannot get a random number");
  return hexadecimal(number);
}

bool is_shard_file(std::string_view name) {
  constexpr std::string_view kBefore = "shard-";
  if (!name.starts_with(kBefore)) return false;
  name.remove_prefix(kBefore.size());
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  return digits >= 6 && digits < name.size() && name[digits] == '.';
}

// Files that packing may have written beside a dataset's penstock.json.
bool is_of_packing(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{Manifest::kFileName, DatasetUpload::kJournal, SkipReport::kFileName,
                                                   "penstock.idx", "index.json"};
  return is_shard_file(name) || std::ranges::find(kNames, name) != kNames.end();
}

std::string text_of_file(const fs::path& path) {
  const FileBytes file(path);
  std::string text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  file.require_whole();
  return text;
}

std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Returns the shard to which a file or index belongs: "shard-000000" for "shard-000000.lmdb/data.mdb".
std::string_view stem_of(std::string_view name) {
  return name.substr(0, name.find('.'));
}

// Returns the offset of the first value in the first file.
std::uint64_t head_bytes(const Index& index) {
  std::uint64_t first = index.file(0).size;
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < index.size(); ++sample) {
    for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
      if (!index.locate(sample, field, pieces)) continue;
      for (const Piece& piece : pieces) {
        if (piece.kind == Piece::Kind::extent && piece.extent.file == 0) first = std::min(first, piece.extent.offset);
      }
    }
  }
  return first;
}

}  // namespace

DatasetUpload::DatasetUpload(std::string address, fs::path folder)
    : address_(std::move(address)), folder_(std::move(folder)), run_(new_run()) {}

// Lists the objects at the address, including those in shards that are folders.
void DatasetUpload::look() {
  there_.clear();
  first_foreign_.clear();
  for (const ListedObject& one : object_store().list(address_)) {
    if (one.name.empty()) continue;  // the marker object of a folder
    if (!is_of_packing(one.name)) {
      if (first_foreign_.empty()) first_foreign_ = one.name;
      continue;
    }
    if (!one.is_folder) {
      there_[one.name] = one.info.size;
      continue;
    }
    for (const ListedObject& inner : object_store().list(at(one.name))) {
      if (!inner.is_folder && !inner.name.empty()) there_[one.name + "/" + inner.name] = inner.info.size;
    }
  }
}

void DatasetUpload::require_free(bool overwrite, bool resume) {
  look();
  const auto refuse = [&](const std::string& why) { throw Error::invalid_argument(why, {.dataset = address_}); };
  const bool complete = there_.contains(std::string(Manifest::kFileName));
  const bool begun = there_.contains(std::string(kJournal));
  if (complete && !overwrite) refuse("already exists; pass --overwrite (overwrite=True) to replace it");
  if (begun && !complete && !resume && !overwrite) {
    refuse(
        "is left from a run that did not finish: --resume (resume=True) continues it, --overwrite (overwrite=True) "
        "starts again");
  }
  if (complete || begun) return;
  if (!first_foreign_.empty()) refuse("contains an object that does not belong to a packed dataset: " + first_foreign_);
  if (!there_.empty() && !overwrite) {
    refuse("contains " + there_.begin()->first +
           " of a dataset that lost its penstock.json; pass --overwrite (overwrite=True) to replace it");
  }
}

bool DatasetUpload::fetch_journal() {
  ObjectInfo info;
  const auto journal = object_store().read_whole(at(std::string(kJournal)), info, kLargestIndex);
  if (!journal) return false;
  const auto first_line = std::ranges::find(*journal, std::byte{'\n'});
  if (first_line == journal->end()) return false;
  fs::create_directories(folder_);
  write_synced(folder_ / Journal::kFileName,
               std::span(*journal).subspan(static_cast<std::size_t>(first_line - journal->begin() + 1)));
  const std::string report_name(SkipReport::kFileName);
  if (const auto report = object_store().read_whole(at(report_name), info, kLargestIndex))
    write_synced(folder_ / report_name, *report);
  return Journal::is_in(folder_);
}

std::optional<Index> DatasetUpload::fetch_index(const ManifestShard& shard) {
  const std::string name = index_name(shard.name).string();
  ObjectInfo info;
  auto bytes = object_store().read_whole(at(name), info, kLargestIndex);
  if (!bytes) return std::nullopt;
  try {
    if (bytes->size() < 64 || crc32c(std::span(*bytes).first(64)) != shard.index) return std::nullopt;
    Index index = Index::from_bytes(*bytes);
    index.verify();
    if (index.size() != shard.samples) return std::nullopt;
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < index.file_count(); ++i) {
      const IndexedFile file = index.file(i);
      const auto found = there_.find(std::string(file.path));
      if (stem_of(file.path) != stem_of(shard.name) || found == there_.end() || found->second != file.size)
        return std::nullopt;
      total += file.size;
    }
    if (total != shard.bytes) return std::nullopt;
    write_synced(folder_ / name, *bytes);
    return index;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::unsupported) return std::nullopt;
    throw;
  }
}

void DatasetUpload::begin(std::span<const ManifestShard> whole) {
  const std::string journal(kJournal), manifest(Manifest::kFileName);
  const bool replaces = there_.contains(manifest);
  const std::string text = "{\"run\": \"" + run_ + "\"}\n" + text_of_file(folder_ / Journal::kFileName);
  send_text(journal, text, !there_.contains(journal) && !replaces);
  if (replaces) object_store().remove(at(manifest));
  std::set<std::string_view> stems;
  for (const ManifestShard& shard : whole) stems.insert(stem_of(shard.name));
  const bool has_report = fs::exists(folder_ / SkipReport::kFileName);
  for (const auto& [name, size] : there_) {
    if (name == journal || name == manifest || (is_shard_file(name) && stems.contains(stem_of(name)))) continue;
    if (name == SkipReport::kFileName && has_report) continue;
    object_store().remove(at(name));
  }
}

void DatasetUpload::add_shard(const ManifestShard& shard, bool there, bool keep_head) {
  const Interruptible waits(when_aborted());
  const Index index = Index::open(folder_ / index_name(shard.name));
  for (std::uint32_t i = 0; !there && i < index.file_count(); ++i) send(std::string(index.file(i).path));
  send(index_name(shard.name).string());
  remove_tree(folder_ / shard.name);
  if (keep_head) fetch_head(shard);
}

void DatasetUpload::fetch_heads(std::span<const ManifestShard> shards) {
  for (const ManifestShard& shard : shards) {
    if (!fs::exists(folder_ / shard.name)) fetch_head(shard);
  }
}

// The file has the shard's full length, with a hole after the head.
void DatasetUpload::fetch_head(const ManifestShard& shard) const {
  const fs::path path = folder_ / shard.name;
  const Index index = Index::open(folder_ / index_name(shard.name));
  std::vector<std::byte> head(static_cast<std::size_t>(head_bytes(index)));
  read_range(at(shard.name), 0, head);
  write_synced(path, head);
  fs::resize_file(path, index.file(0).size);
}

void DatasetUpload::save_journal() {
  const Interruptible waits(when_aborted());
  const fs::path report = folder_ / SkipReport::kFileName;
  if (fs::exists(report)) {
    if (std::string text = text_of_file(report); text != report_sent_) {
      send_text(std::string(SkipReport::kFileName), text, false);
      report_sent_ = std::move(text);
    }
  }
  require_own_journal();
  send_text(std::string(kJournal), "{\"run\": \"" + run_ + "\"}\n" + text_of_file(folder_ / Journal::kFileName), false);
}

// Detects that another process has taken over the address.
void DatasetUpload::require_own_journal() const {
  const auto now = object_store().find(at(std::string(kJournal)));
  if (now && now->version == journal_version_) return;
  throw Error::invalid_argument("another process is packing into " + address_);
}

void DatasetUpload::finish(std::span<const ManifestShard> shards, const std::string& manifest) {
  const Interruptible waits(when_aborted());
  std::set<std::string> rest;
  visit_names(folder_, [&](const char* name) {
    if (name != Journal::kFileName && name != Manifest::kFileName && *name != '.') rest.insert(name);
    return true;
  });
  for (const ManifestShard& shard : shards) {
    rest.erase(shard.name);
    rest.erase(index_name(shard.name).string());
  }
  for (const std::string& name : rest) send(name);
  require_own_journal();
  send_text(std::string(Manifest::kFileName), manifest, true);
  try {
    object_store().remove(at(std::string(kJournal)));
  } catch (const Error&) {  // beside penstock.json it has no meaning
  }
}

void DatasetUpload::discard() noexcept {
  try {
    constexpr std::chrono::seconds kPatience{10};
    const Interruptible tidying(when_patience_ends(kPatience));
    if (journal_version_.empty()) return;
    require_own_journal();
    look();
    const std::string journal(kJournal);
    if (there_.contains(std::string(Manifest::kFileName))) return;
    for (const auto& [name, size] : there_) {
      if (name != journal) object_store().remove(at(name));
    }
    object_store().remove(at(journal));
  } catch (...) {  // the earlier failure is the one to report
  }
}

void DatasetUpload::send(const std::string& name) {
  const fs::path path = path_inside(folder_, name);
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  const std::unique_ptr<ObjectUpload> upload = object_store().upload(at(name));
  std::vector<std::byte> piece(kPiece);
  std::uint64_t sent = 0;
  while (const std::size_t got = read_at(file.get(), piece, sent, path)) {
    require_not_aborted();
    upload->write(std::span(piece).first(got));
    sent += got;
  }
  require_not_aborted();
  const ObjectInfo info = upload->finish();
  if (info.size == sent || info.size == 0) return;
  throw Error::io(EIO, "the store has " + std::to_string(info.size) + " of " + std::to_string(sent) + " bytes",
                  {.dataset = address_, .shard = name});
}

void DatasetUpload::send_text(const std::string& name, const std::string& text, bool if_absent) {
  require_not_aborted();
  ObjectInfo info;
  try {
    const std::unique_ptr<ObjectUpload> upload = object_store().upload(at(name), if_absent);
    upload->write(bytes_of_text(text));
    info = upload->finish();
  } catch (const Error&) {
    // The response may have been lost although the upload succeeded. In that case the object has the same content.
    if (!if_absent) throw;
    const auto there = object_store().read_whole(at(name), info, kLargestIndex);
    if (!there || !std::ranges::equal(*there, bytes_of_text(text))) throw;
  }
  if (name != kJournal) return;
  if (info.version.empty()) info = object_store().find(at(name)).value_or(info);
  journal_version_ = info.version;
}

// Also checks the interruption of the calling thread, because this may run in the caller's thread.
std::function<bool()> DatasetUpload::when_aborted() const {
  return [this, by_caller = interruption_of_thread()] { return aborted_ || (by_caller && by_caller()); };
}

void DatasetUpload::require_not_aborted() const {
  if (aborted_) throw Error::resource("interrupted; --resume (resume=True) continues after the last complete shard");
}

}  // namespace penstock
