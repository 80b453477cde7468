#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include <base/parallel_for.hpp>
#include <base/waits/interruption.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/places/object_store.hpp>
#include <formats/places/places.hpp>
#include <formats/text/json_depth.hpp>
#include <formats/text/json_number.hpp>
#include <penstock/error.hpp>
#include <staging/list.hpp>
#include <staging/store_target.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr unsigned kMostUploads = 4;  // each has several parts in flight
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr std::uint64_t kJournalEvery = std::uint64_t{64} << 20;  // bytes that another run might have to send again
constexpr std::uint64_t kLargestText = std::uint64_t{1} << 30;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// The sent object, and the state of its file at that time.
struct Sent {
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // of the source
  std::string version;        // of the object
};

class StoreStaging {
 public:
  StoreStaging(const Dataset& dataset, std::string address, const StageOptions& options,
               const std::function<bool(const StageProgress&)>& tell)
      : dataset_(dataset), address_(std::move(address)), options_(options), tell_(tell) {
    StageList list = list_stage_files(dataset);
    opens_ = list.opens;
    files_ = std::move(list.files);
    for (const StageFile& file : files_) total_bytes_ += file.size;
    one_file_ = list.single;
    if (one_file_) {
      const fs::path named(address_);
      if (named.extension() == fs::path(files_.front().name).extension()) files_.front().name = named.filename();
      single_ = named.filename() == files_.front().name;
      if (single_) folder_ = address_.substr(0, address_.rfind('/'));
    }
    if (!single_) folder_ = address_;
    // Sent last, because no reader opens the copy before it exists.
    const auto is_manifest = [](const StageFile& file) { return file.name == Manifest::kFileName; };
    if (const auto found = std::ranges::find_if(files_, is_manifest); found != files_.end() && dataset.packed()) {
      manifest_ = *found;
      files_.erase(found);
    }
    folders_.insert("");
    for (const StageFile& file : files_) {
      for (fs::path above = fs::path(file.name).parent_path(); !above.empty(); above = above.parent_path())
        folders_.insert(above.string());
    }
  }

  StageResult run() {
    const auto begin = std::chrono::steady_clock::now();
    look();
    if (!complete()) send_all();
    watch();
    StageResult result;
    result.opens = one_file_ ? at(files_.front().name) : address_ + (opens_.empty() ? "" : "/" + opens_);
    result.files = files_.size() + (manifest_ ? 1 : 0);
    result.bytes = total_bytes_;
    result.kept_files = kept_files_;
    result.kept_bytes = kept_bytes_;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    result.engine_reason = "sent to a store";
    return result;
  }

 private:
  std::string at(std::string_view name) const { return folder_ + "/" + std::string(name); }

  bool watch() const {
    return !tell_ || tell_({.files = done_files_,
                            .total_files = files_.size() + (manifest_ ? 1U : 0U),
                            .bytes = done_bytes_,
                            .total_bytes = total_bytes_,
                            .copied_bytes = copied_bytes_,
                            .waiting = false});
  }

  // Lists the destination and reads its journal.
  void look() {
    for (const std::string& folder : folders_) {
      for (const ListedObject& one : object_store().list(folder.empty() ? folder_ : at(folder))) {
        if (!one.is_folder) there_[folder.empty() ? one.name : folder + "/" + one.name] = one.info;
      }
    }
    if (there_.contains(std::string(kStoreStageJournal)) && !options_.overwrite) read_journal();
  }

  void read_journal() {
    ObjectInfo info;
    const auto bytes = object_store().read_whole(at(kStoreStageJournal), info, kLargestText);
    if (!bytes) return;
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    for (std::size_t begin = 0, end = text.find('\n'); end != std::string_view::npos;
         begin = end + 1, end = text.find('\n', begin)) {
      try {
        const std::string line(text.substr(begin, end - begin));
        require_shallow_json(line);
        const Json json = Json::parse(line);
        sent_[json.at("name").get<std::string>()] = {.size = whole_number(json.at("size")),
                                                     .modified = json.at("modified").get<std::int64_t>(),
                                                     .version = json.at("version").get<std::string>()};
      } catch (const std::exception&) {
        return;  // lines after a damaged one are not trusted
      }
    }
  }

  // Returns true if the copy is already complete. Throws if the destination has other objects, unless an earlier run
  // sent them.
  bool complete() {
    const bool finished = there_.contains(std::string(Manifest::kFileName));
    const bool begun = there_.contains(std::string(kStoreStageJournal));
    if (options_.overwrite || there_.empty()) return false;
    if (finished && manifest_ && is_copy_of_manifest()) {
      const bool all = std::ranges::all_of(files_, [&](const StageFile& file) {
        const auto found = there_.find(file.name);
        return found != there_.end() && found->second.size == file.size;
      });
      if (!all)
        throw Error::corrupt(
            "lacks files of the dataset although it has penstock.json; pass --overwrite (overwrite=True) to "
            "copy everything again",
            {.dataset = address_});
      keep_all();
      return true;
    }
    if (begun && !finished) return false;
    const bool in_the_way =
        single_ ? there_.contains(files_.front().name)
                : finished || !std::ranges::all_of(there_, [&](const auto& one) {
                    return std::ranges::any_of(files_, [&](const StageFile& file) { return file.name == one.first; });
                  });
    if (in_the_way)
      throw Error::invalid_argument("already exists; pass --overwrite (overwrite=True) to replace it",
                                    {.dataset = address_});
    return false;
  }

  bool is_copy_of_manifest() const {
    ObjectInfo info;
    const auto bytes = object_store().read_whole(at(Manifest::kFileName), info, Manifest::kLongest);
    return bytes && std::ranges::equal(*bytes, as_bytes(dataset_.attributes()));
  }

  void keep_all() {
    kept_files_ = done_files_ = files_.size() + (manifest_ ? 1 : 0);
    kept_bytes_ = done_bytes_ = total_bytes_;
  }

  bool is_kept(const StageFile& file) const {
    const auto sent = sent_.find(file.name);
    const auto found = there_.find(file.name);
    return sent != sent_.end() && found != there_.end() && sent->second.size == file.size &&
           sent->second.modified == file.modified && found->second.size == file.size &&
           found->second.version == sent->second.version;
  }

  void send_all() {
    std::vector<const StageFile*> missing;
    for (const StageFile& file : files_) {
      if (!is_kept(file)) {
        missing.push_back(&file);
        continue;
      }
      ++kept_files_;
      kept_bytes_ += file.size;
    }
    done_files_ = kept_files_;
    done_bytes_ = kept_bytes_;
    save_journal();
    // Readers must not open a copy whose files are being replaced.
    if (there_.contains(std::string(Manifest::kFileName))) object_store().remove(at(Manifest::kFileName));
    const unsigned workers = std::min(options_.workers != 0 ? options_.workers : kMostUploads,
                                      static_cast<unsigned>(std::max<std::size_t>(missing.size(), 1)));
    try {
      parallel_for(
          missing.size(), workers,
          [&](unsigned, std::uint64_t number, const std::stop_token& stop) { send_file(*missing[number], stop); },
          [&] { return watch(); });
    } catch (...) {
      try {
        constexpr std::chrono::seconds kPatience{30};
        const Interruptible tidying(when_patience_ends(kPatience));
        save_journal();
      } catch (const Error&) {  // the original failure is more important
      }
      throw;
    }
    if (manifest_) send_file(*manifest_, {});
    object_store().remove(at(kStoreStageJournal));
  }

  void send_file(const StageFile& file, const std::stop_token& stop) {
    const auto source = open_byte_source(file.source, file.object, Access::in_order);
    const std::unique_ptr<ObjectUpload> upload = object_store().upload(at(file.name));
    std::vector<std::byte> piece(static_cast<std::size_t>(std::clamp<std::uint64_t>(file.size, 1, kPieceBytes)));
    std::uint64_t sent = 0;
    std::uint32_t crc = 0;
    while (const std::size_t got = source->read(sent, piece)) {
      if (stop.stop_requested()) throw Error::resource("interrupted");
      const std::span<const std::byte> bytes = std::span(piece).first(got);
      upload->write(bytes);
      crc = crc32c(bytes, crc);
      sent += got;
      done_bytes_ += got;
      copied_bytes_ += got;
    }
    StageFile now = file;
    if (file.object == nullptr) stat_file(file.source, now.size, now.modified);
    const ErrorContext where{.dataset = dataset_.path().string(), .shard = file.name};
    if (sent != file.size || now.size != file.size || now.modified != file.modified)
      throw Error::corrupt("the source changed while it was copied", where);
    if (options_.verify != StageVerify::never && file.crc32c && *file.crc32c != crc)
      throw Error::corrupt("its bytes are not the packed ones (checksum of the shard)", where);
    const ObjectInfo info = upload->finish();
    if (info.size != 0 && info.size != sent)
      throw Error::io(EIO, "the store has " + std::to_string(info.size) + " of " + std::to_string(sent) + " bytes",
                      {.dataset = address_, .shard = file.name});
    ++done_files_;
    const std::scoped_lock lock(mutex_);
    sent_[file.name] = {.size = file.size, .modified = file.modified, .version = info.version};
    unsaved_ += sent;
    if (unsaved_ >= kJournalEvery) save_journal_locked();
  }

  void save_journal() {
    const std::scoped_lock lock(mutex_);
    save_journal_locked();
  }

  void save_journal_locked() {
    std::string text;
    for (const auto& [name, sent] : sent_) {
      text += Json{{"name", name}, {"size", sent.size}, {"modified", sent.modified}, {"version", sent.version}}.dump(
                  -1, ' ', false, Json::error_handler_t::replace) +
              "\n";
    }
    const std::unique_ptr<ObjectUpload> upload = object_store().upload(at(kStoreStageJournal));
    upload->write(as_bytes(text));
    upload->finish();
    unsaved_ = 0;
  }

  const Dataset& dataset_;
  const std::string address_;
  const StageOptions& options_;
  const std::function<bool(const StageProgress&)>& tell_;
  std::string folder_, opens_;
  bool one_file_ = false;  // the dataset is one file
  bool single_ = false;    // its object has exactly the destination's address
  std::vector<StageFile> files_;
  std::optional<StageFile> manifest_;  // separate, because it is sent last
  std::set<std::string> folders_;      // folders of the files
  std::map<std::string, ObjectInfo> there_;
  std::uint64_t total_bytes_ = 0, kept_files_ = 0, kept_bytes_ = 0;
  // Only reported to the caller: order nothing.
  std::atomic<std::uint64_t> done_files_{0}, done_bytes_{0}, copied_bytes_{0};
  std::mutex mutex_;  // guards sent_ and unsaved_
  std::map<std::string, Sent> sent_;
  std::uint64_t unsaved_ = 0;
};

}  // namespace

StageResult stage_to_store(const Dataset& dataset, const std::string& address, const StageOptions& options,
                           const std::function<bool(const StageProgress&)>& tell) {
  try {
    return StoreStaging(dataset, address, options, tell).run();
  } catch (const Error& error) {
    throw error.in({.dataset = address});
  }
}

}  // namespace penstock
