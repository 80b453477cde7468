#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <base/cores.hpp>
#include <base/leak_until_exit.hpp>
#include <base/parallel_for.hpp>
#include <formats/dataset.hpp>
#include <formats/folder/folder_walk.hpp>
#include <formats/format.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/io/file_identity.hpp>
#include <formats/io/path_inside.hpp>
#include <formats/places/store_destination.hpp>
#include <formats/sidecar/sidecar.hpp>
#include <penstock/error.hpp>
#include <penstock/stage.hpp>
#include <staging/copy.hpp>
#include <staging/object_engine.hpp>
#include <staging/store_target.hpp>
#include <staging/target.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/storage_engine.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostWorkers = 8;
constexpr std::size_t kStreamBytes = std::size_t{16} << 20;  // bytes that each worker reads ahead
constexpr std::uint64_t kBatchBytes = std::uint64_t{16} << 20;

// Number of files to copy together: each needs an open descriptor.
std::size_t files_at_once(unsigned workers) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 16;
  return static_cast<std::size_t>(std::clamp<rlim_t>(limit.rlim_cur / 4 / workers, 1, 256));
}

/// An engine and the streams that it fills. If storage does not answer, their memory is leaked.
class Streams {
 public:
  Streams(const StageWork& work, unsigned workers) {
    for (unsigned worker = 0; worker < workers; ++worker)
      streams_.push_back(std::make_unique<ReadStream>(std::uint64_t{worker} << 32, kStreamBytes));
    // Raw pointers, because the engine may outlive this object.
    std::vector<ReadStream*> answered;
    for (const auto& stream : streams_) answered.push_back(stream.get());
    const OnRead on_read = [answered](std::uint64_t tag, std::exception_ptr failure) {
      answered[tag >> 32]->answer(tag, std::move(failure));
    };
    const auto sources = std::make_shared<std::vector<DataFile>>();
    for (const StageFile& file : work.list.files) sources->push_back({.path = file.source, .size = file.size});
    const EngineFiles files{.count = static_cast<std::uint32_t>(sources->size()),
                            .lookup = [sources](std::uint32_t file) { return (*sources)[file]; },
                            .root = work.list.root};
    const auto make = [&](const OnRead& answer) -> std::unique_ptr<ReadEngine> {
      if (work.dataset.in_store()) {
        reason_ = "by ranges of objects";
        std::vector<std::shared_ptr<const StoredObject>> objects;
        for (const StageFile& file : work.list.files) objects.push_back(file.object);
        return std::make_unique<ObjectEngine>(std::move(objects), answer);
      }
      ChosenEngine chosen = choose_storage_engine(files, {.kind = work.options.engine}, answer);
      reason_ = std::move(chosen.reason);
      return std::move(chosen.engine);
    };
    engine_ = work.options.wrap_engine ? work.options.wrap_engine(make, on_read) : make(on_read);
  }
  Streams(Streams&&) = delete;
  ~Streams() {
    if (engine_->stop(kStopGrace)) return;
    leak_until_exit(
        std::make_shared<std::pair<decltype(streams_), decltype(engine_)>>(std::move(streams_), std::move(engine_)));
  }

  ReadEngine& engine() { return *engine_; }
  ReadStream& of(unsigned worker) { return *streams_[worker]; }
  const std::string& reason() const { return reason_; }

 private:
  std::vector<std::unique_ptr<ReadStream>> streams_;
  std::string reason_;
  std::unique_ptr<ReadEngine> engine_;
};

/// Ends the copying when the time of StageOptions::within is over.
struct OutOfTime {};

class Staging {
 public:
  Staging(const Dataset& dataset, const fs::path& destination, const StageOptions& options,
          const std::function<bool(const StageProgress&)>& tell)
      : dataset_(dataset),
        options_(options),
        tell_(tell),
        list_(list_stage_files(dataset)),
        target_(list_, destination),
        work_{.dataset = dataset_, .list = list_, .options = options_},
        workers_(options.workers != 0 ? options.workers : std::min(usable_cores(), kMostWorkers)),
        states_(list_.files.size(), options.overwrite ? State::missing : State::unknown) {
    for (const StageFile& file : list_.files) total_bytes_ += file.size;
    if (target_.renamed()) rename_single();
  }

  StageResult run() {
    const auto lock = target_.lock([&] { return watch(true); }, work_.trusting);
    const StageJournal::Origin origin{.source = dataset_.in_store()
                                                    ? dataset_.path().string()
                                                    : fs::weakly_canonical(fs::absolute(dataset_.path())).string(),
                                      .fingerprint = dataset_.fingerprint()};
    target_.settle(origin, dataset_.packed(), options_.overwrite);
    work_.folder = target_.folder();
    if (options_.overwrite) work_.trusting = false;
    {
      StageJournal journal(target_.journal(), origin);
      work_.journal = &journal;
      const bool changed = complete();
      finish(journal, changed);
    }
    result_.opens = target_.destination();
    if (!list_.opens.empty()) result_.opens /= list_.opens;
    count_files();
    result_.seconds = seconds();
    watch(false);
    return std::move(result_);
  }

 private:
  enum class State : std::uint8_t { unknown, missing, linked, kept, copied };

  void rename_single() { list_.files.front().name = target_.destination().filename().string(); }

  bool watch(bool waiting) const {
    if (!tell_) return true;
    return tell_({.files = work_.files.load(std::memory_order_relaxed),
                  .total_files = list_.files.size(),
                  .bytes = work_.bytes.load(std::memory_order_relaxed),
                  .total_bytes = total_bytes_,
                  .copied_bytes = work_.copied.load(std::memory_order_relaxed),
                  .waiting = waiting});
  }

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

  bool watch_in_time() const {
    if (options_.within && seconds() >= options_.within->count()) throw OutOfTime();
    return watch(false);
  }

  // Returns whether the copy changed.
  bool complete() {
    try {
      find_kept();
      const std::vector<std::uint32_t> missing = missing_files();
      if (!missing.empty()) copy(missing);
      return !missing.empty();
    } catch (const OutOfTime&) {
      work_.trusting = true;  // the time limit leaves the other files uncompared
      find_kept();
      return link_missing();
    }
  }

  void find_kept() {
    parallel_for(
        list_.files.size(), workers_,
        [&](unsigned, std::uint64_t number, const std::stop_token& stop) {
          if (states_[number] == State::unknown) states_[number] = state_of(list_.files[number], stop);
        },
        [&] { return work_.trusting ? watch(false) : watch_in_time(); });
  }

  State state_of(const StageFile& file, const std::stop_token& stop) {
    const fs::path path = work_.path_of(file);
    if (is_staged(work_, file, stop)) {
      fs::remove(growing_name(path));
      work_.files.fetch_add(1, std::memory_order_relaxed);
      work_.bytes.fetch_add(file.size, std::memory_order_relaxed);
      return State::kept;
    }
    return work_.trusting && options_.within && fs::is_symlink(path) ? State::linked : State::missing;
  }

  std::vector<std::uint32_t> missing_files() const {
    std::vector<std::uint32_t> missing;
    for (std::uint32_t number = 0; number < states_.size(); ++number)
      if (states_[number] == State::missing) missing.push_back(number);
    return missing;
  }

  // Afterwards no reader can open the copy until commit().
  void reopen() {
    target_.reopen();
    work_.folder = target_.folder();
  }

  void make_folders() const {
    for (const std::string& folder : list_.folders) fs::create_directories(work_.folder / folder);
  }

  void copy(const std::vector<std::uint32_t>& missing) {
    reopen();
    require_room(missing);
    make_folders();
    const std::vector<std::span<const std::uint32_t>> batches = in_batches(missing);
    const unsigned workers = static_cast<unsigned>(std::min<std::size_t>(workers_, batches.size()));
    Streams streams(work_, workers);
    result_.engine = streams.engine().kind();
    result_.engine_reason = streams.reason();
    parallel_for(
        batches.size(), workers,
        [&](unsigned worker, std::uint64_t batch, const std::stop_token& stop) {
          copy_files(work_, batches[batch], streams.engine(), streams.of(worker), stop);
          for (const std::uint32_t number : batches[batch]) states_[number] = State::copied;
        },
        [&] { return watch_in_time(); });
  }

  // Replaces each missing file by a symbolic link to its source, so that the copy is usable. Returns whether there was
  // one.
  bool link_missing() {
    const std::vector<std::uint32_t> missing = missing_files();
    if (missing.empty()) return false;
    reopen();
    make_folders();
    const fs::path root = fs::canonical(list_.single ? list_.files.front().source.parent_path() / "." : list_.root);
    parallel_for(
        missing.size(), workers_,
        [&](unsigned, std::uint64_t position, const std::stop_token&) {
          const StageFile& file = list_.files[missing[position]];
          const fs::path path = work_.path_of(file);
          if (file.size <= options_.checkpoint_bytes) fs::remove(growing_name(path));  // it has no checkpoint
          fs::remove(path);
          fs::create_symlink(root / (list_.single ? file.source.filename() : fs::path(file.name)), path);
          states_[missing[position]] = State::linked;
        },
        [&] { return watch(false); });
    return true;
  }

  void count_files() {
    for (std::size_t number = 0; number < states_.size(); ++number) {
      const std::uint64_t size = list_.files[number].size;
      if (states_[number] == State::kept) ++result_.kept_files, result_.kept_bytes += size;
      if (states_[number] == State::linked) ++result_.linked_files, result_.linked_bytes += size;
    }
    result_.files = states_.size();
    result_.bytes = total_bytes_;
  }

  void require_room(const std::vector<std::uint32_t>& missing) const {
    std::uint64_t needed = 0;
    for (const std::uint32_t number : missing) needed += list_.files[number].size;
    for (const std::uint32_t number : missing) {  // bytes kept by checkpoints need no more room
      std::error_code none;
      const fs::path path = work_.path_of(list_.files[number]);
      const auto there = fs::file_size(growing_name(path), none);
      if (!none) needed -= std::min<std::uint64_t>(needed, there);
    }
    struct statvfs room {};
    if (::statvfs(work_.folder.c_str(), &room) != 0) return;
    const std::uint64_t free = std::uint64_t{room.f_bavail} * room.f_frsize;
    if (needed > free) {
      throw Error::io(ENOSPC,
                      "needs " + std::to_string(needed) + " bytes, but only " + std::to_string(free) + " are free",
                      {.dataset = target_.destination().string()});
    }
  }

  // Groups neighbouring small files. Large files are separate.
  std::vector<std::span<const std::uint32_t>> in_batches(std::span<const std::uint32_t> all) const {
    const std::size_t most = files_at_once(workers_);
    std::vector<std::span<const std::uint32_t>> batches;
    for (std::size_t begin = 0; begin < all.size();) {
      std::size_t end = begin;
      for (std::uint64_t bytes = 0; end < all.size() && end - begin < most; ++end) {
        bytes += list_.files[all[end]].size;
        if (end != begin && bytes > std::min(kBatchBytes, options_.checkpoint_bytes)) break;
      }
      batches.push_back(all.subspan(begin, end - begin));
      begin = end;
    }
    return batches;
  }

  void finish(const StageJournal& journal, bool changed) const {
    if (!list_.single && changed) remove_others(journal);
    if (format_.loose) require_no_others();
    require_same_source();
    if (!dataset_.packed() && !format_.loose && !target_.renamed()) keep_sidecars();
    if (changed) sync_folders();
    require_equal();
    target_.commit(options_.overwrite);
  }

  // Removes files that an earlier run staged and that the source no longer has.
  void remove_others(const StageJournal& journal) const {
    std::set<std::string_view> names;
    for (const StageFile& file : list_.files) names.insert(file.name);
    for (const std::string& name : journal.names()) {
      if (names.contains(name) || !is_inside(name)) continue;
      fs::remove(work_.folder / name);
      fs::remove(growing_name(work_.folder / name));
    }
  }

  // In a folder of files, any other file would become a sample.
  void require_no_others() const {
    std::set<std::string_view> names;
    for (const StageFile& file : list_.files) names.insert(file.name);
    walk_folder(work_.folder, {.file =
                                   [&](std::string_view name, std::uint64_t) {
                                     if (names.contains(name)) return;
                                     throw Error::invalid_argument(
                                         "the copy has a file that the source does not have; pass --overwrite "
                                         "(overwrite=True) to copy everything again",
                                         {.dataset = work_.folder.string(), .shard = std::string(name)});
                                   },
                               .folder = {},
                               .own_files = true});
  }

  // Checks that the copied files are still the ones that the indexes describe.
  void require_same_source() const {
    if (dataset_.in_store()) return;  // every range was requested for that version of the object
    if (format_.loose) return;        // a new index of the copy is made and compared
    for (std::uint32_t file = 0; file < dataset_.file_count(); ++file)
      dataset_.require_unchanged(file, identity_of(dataset_.file(file).path));
  }

  // Writes the dataset's indexes for the copy, too.
  void keep_sidecars() const {
    const Format* format = format_named(dataset_.format());
    if (format == nullptr) return;
    for (std::size_t shard = 0; shard < dataset_.shard_count(); ++shard) {
      // Sidecars contain only indexes of the default options.
      if (format->depends != nullptr && format->depends(options_of(dataset_.shard(shard)))) continue;
      const fs::path path = shard_path(dataset_, shard);
      const fs::path copy = list_.single ? target_.destination() : work_.folder / path.lexically_relative(list_.root);
      keep_sidecar(*format, without_dot(copy), dataset_.shard(shard).index);
    }
  }

  // "copy/." -> "copy": used if the shard is the whole folder
  static fs::path without_dot(const fs::path& path) { return path.filename() == "." ? path.parent_path() : path; }

  void sync_folders() const {
    sync_folder(work_.folder);
    for (const std::string& folder : list_.folders) sync_folder(work_.folder / folder);
  }

  void require_equal() const {
    const fs::path path = list_.single          ? target_.destination()
                          : list_.opens.empty() ? work_.folder
                                                : work_.folder / list_.opens;
    const Dataset copy = open(path, dataset_.shard_count() == 0 ? OpenOptions() : options_of(dataset_.shard(0)));
    for (std::size_t shard = 0; copy.packed() && shard < copy.shard_count(); ++shard) copy.shard(shard).index.verify();
    if (copy.size() == dataset_.size() && copy.fingerprint() == dataset_.fingerprint()) return;
    throw Error::corrupt(target_.renamed()
                             ? "the name of the copy gives its samples other keys; use the name of the source"
                             : "the copy has other samples than the source, although it has all of its files",
                         {.dataset = path.string()});
  }

  const Dataset& dataset_;
  const Format& format_ = format_of(dataset_);
  const StageOptions& options_;
  const std::function<bool(const StageProgress&)>& tell_;
  StageList list_;
  StageTarget target_;
  StageWork work_;
  const unsigned workers_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t total_bytes_ = 0;
  std::vector<State> states_;  // threads write to different elements
  StageResult result_;
};

}  // namespace

StageResult stage(const Dataset& dataset, const fs::path& destination, const StageOptions& options,
                  const std::function<bool(const StageProgress&)>& tell) {
  if (dataset.is_view()) {
    throw Error::invalid_argument(
        "is a view (" + dataset.about() +
            "), but staging copies whole files; stage the dataset of the view and select from "
            "the copy, or pack the view",
        {.dataset = dataset.path().string()});
  }
  const auto address = store_destination(destination);
  if (options.within && (address || dataset.in_store())) {
    throw Error::invalid_argument(
        "within works only between file systems, because it creates links; stage without it, or read the store through "
        "disk_cache",
        {.dataset = dataset.path().string()});
  }
  if (options.within && !(options.within->count() >= 0)) {
    throw Error::invalid_argument("within must be 0 seconds or more, not " + std::to_string(options.within->count()));
  }
  if (address) return stage_to_store(dataset, *address, options, tell);
  try {
    return Staging(dataset, destination, options, tell).run();
  } catch (const fs::filesystem_error& error) {
    throw Error::io(error.code().value(), "cannot use " + error.path1().string(), {.dataset = destination.string()});
  }
}

}  // namespace penstock
