// Chooses the engine that suits a dataset on this machine, and reports the reason.
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <base/caught.hpp>
#include <base/error_number.hpp>
#include <formats/error_location.hpp>
#include <formats/extent.hpp>
#include <penstock/storage.hpp>
#include <storage/read/gather_engine.hpp>
#include <storage/read/in_worker_engine.hpp>
#include <storage/read/network_file_system.hpp>
#include <storage/read/pread_engine.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/residency.hpp>
#include <storage/read/storage_engine.hpp>
#include <storage/read/store_engine.hpp>
#include <storage/uring/uring_engine.hpp>

namespace penstock {
namespace {

/// Counts down the requests of one caller that waits for all of them.
struct Awaited {
  std::mutex mutex;
  std::condition_variable all_came;
  std::size_t left = 0;
};

struct AwaitedRead {
  Awaited* by = nullptr;
  std::exception_ptr failure = {};
};

void come(std::uint64_t tag, std::exception_ptr failure) {
  AwaitedRead& read = *reinterpret_cast<AwaitedRead*>(tag);
  read.failure = std::move(failure);
  const std::scoped_lock lock(read.by->mutex);
  if (--read.by->left == 0) read.by->all_came.notify_all();
}

/// Wraps an asynchronous engine: submit() returns in the calling thread after every request has been answered.
class WaitingEngine : public ReadEngine {
 public:
  /// `make` builds the wrapped engine, which answers to the given OnRead.
  WaitingEngine(const std::function<std::unique_ptr<ReadEngine>(OnRead)>& make, OnRead on_read);
  ~WaitingEngine() override;
  bool stop(std::chrono::milliseconds grace) override;
  bool abandoned() const override { return engine_->abandoned(); }
  EngineKind kind() const override { return engine_->kind(); }
  bool synchronous() const override { return true; }
  void submit(std::span<const ReadRequest> requests) override;
  void cancel() noexcept override { engine_->cancel(); }
  EngineStats stats() const override { return engine_->stats(); }

 private:
  const OnRead on_read_;
  std::unique_ptr<ReadEngine> engine_;
};

WaitingEngine::WaitingEngine(const std::function<std::unique_ptr<ReadEngine>(OnRead)>& make, OnRead on_read)
    : on_read_(std::move(on_read)), engine_(make(come)) {}

WaitingEngine::~WaitingEngine() {
  stop(kStopGrace);
}

// Cancels before stopping: a caller may be waiting inside submit(), and the gate would drop its answers.
bool WaitingEngine::stop(std::chrono::milliseconds grace) {
  engine_->cancel();
  return engine_->stop(grace);
}

void WaitingEngine::submit(std::span<const ReadRequest> requests) {
  Awaited awaited;
  awaited.left = requests.size();
  std::vector<AwaitedRead> reads;
  std::vector<ReadRequest> asked;
  const auto failure = caught([&] {
    reads.resize(requests.size(), {&awaited});
    asked.assign(requests.begin(), requests.end());
  });
  if (failure != nullptr) {
    for (const ReadRequest& request : requests) on_read_(request.tag, failure);
    return;
  }
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i].tag = reinterpret_cast<std::uint64_t>(&reads[i]);
  engine_->submit(asked);
  {
    std::unique_lock lock(awaited.mutex);
    awaited.all_came.wait(lock, [&] { return awaited.left == 0; });
  }
  for (std::size_t i = 0; i < reads.size(); ++i) on_read_(requests[i].tag, std::move(reads[i].failure));
}

constexpr std::uint64_t kProbedSamples = 64;

// Returns the largest stored extent of each of some samples, spread evenly over the dataset.
std::vector<Extent> sampled_extents(const Dataset& dataset) {
  std::vector<Extent> extents;
  std::vector<Piece> pieces;
  const std::uint64_t probes = std::min(kProbedSamples, dataset.size());
  for (std::uint64_t i = 0; i < probes; ++i) {
    const std::uint64_t sample = i * (dataset.size() / probes);
    Extent largest{0, 0, 0};
    for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
      dataset.locate(sample, field, pieces);
      for (const Piece& piece : pieces) {
        Extent extent{0, 0, 0};
        if (piece.kind == Piece::Kind::extent) extent = piece.extent;
        if (piece.kind == Piece::Kind::block) extent = stored_extent(dataset, piece.block);
        if (extent.length > largest.length) largest = extent;
      }
    }
    if (largest.length != 0) extents.push_back(largest);
  }
  return extents;
}

// Copies the dataset: the copy shares its indexes and keeps them alive for a thread that outlives the engine.
EngineFiles files_of(const Dataset& dataset) {
  return {.count = dataset.file_count(),
          .lookup = [dataset](std::uint32_t file) { return dataset.file(file); },
          .root = dataset.path(),
          .check = [dataset](std::uint32_t file, const FileIdentity& now) { dataset.require_unchanged(file, now); },
          .random_access = true};
}

FileTableOptions table_options(const EngineFiles& files) {
  return {.root = files.root, .random_access = files.random_access, .check = files.check};
}

std::shared_ptr<EngineCore> make_core(const EngineFiles& files, EngineKind kind, const EngineOptions& options,
                                      OnRead on_read) {
  const bool waits_for_storage = kind == EngineKind::io_uring || kind == EngineKind::pread;
  FileTableOptions table = table_options(files);
  table.direct_io = options.direct_io && kind == EngineKind::io_uring;
  table.random_access = table.random_access && waits_for_storage;
  const bool as_probed = table.random_access && !table.direct_io;
  auto core = std::make_shared<EngineCore>(files.count, files.lookup, std::move(table), std::move(on_read));
  if (files.probed != nullptr && as_probed) core->files.take_open_files(*files.probed);
  return core;
}

std::unique_ptr<ReadEngine> make(EngineKind kind, const EngineFiles& files, const EngineOptions& options,
                                 const OnRead& on_read) {
  auto core = make_core(files, kind, options, on_read);
  switch (kind) {
    case EngineKind::io_uring:
      return std::make_unique<UringEngine>(std::move(core), options);
    case EngineKind::pread:
      return std::make_unique<PreadEngine>(std::move(core), options);
    case EngineKind::mmap:
      return std::make_unique<GatherEngine>(std::move(core), options.scattered);
    case EngineKind::in_worker:
    case EngineKind::automatic:
    case EngineKind::store:
      break;
  }
  return std::make_unique<InWorkerEngine>(std::move(core));
}

std::string refusal_text(int errnum) {
  return "io_uring refused: " + error_number_name(errnum);
}

std::string direct_io_note(EngineKind kind, const EngineOptions& options) {
  return options.direct_io && kind != EngineKind::io_uring ? "; O_DIRECT is not used, because it requires io_uring"
                                                           : "";
}

ChosenEngine named(EngineKind kind, const std::string& who, const EngineFiles& files, const EngineOptions& options,
                   const OnRead& on_read) {
  try {
    return {make(kind, files, options, on_read), who + direct_io_note(kind, options)};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::resource) throw;
    throw Error::invalid_argument("the engine " + std::string(name(kind)) + " (" + who +
                                  ") is not available: " + error.what());
  }
}

// Returns the engine that the options or PENSTOCK_ENGINE name; nothing if the choice is automatic.
std::optional<ChosenEngine> asked_for(const EngineFiles& files, const EngineOptions& options, const OnRead& on_read) {
  if (options.kind != EngineKind::automatic) return named(options.kind, "as requested", files, options, on_read);
  const char* environment = std::getenv("PENSTOCK_ENGINE");
  if (environment == nullptr || *environment == '\0') return std::nullopt;
  const EngineKind kind = engine_named(environment);
  if (kind == EngineKind::automatic) return std::nullopt;
  return named(kind, "PENSTOCK_ENGINE", files, options, on_read);
}

// A reader thread of a network file system waits for a server most of the time.
constexpr unsigned kNetworkThreads = 64;

// `found` describes the residency of the data and may be empty.
ChosenEngine waiting_for_storage(const std::string& found, const EngineFiles& files, EngineOptions options,
                                 const OnRead& on_read) {
  std::string refused;
  const std::string_view network =
      files.count == 0 || options.direct_io ? std::string_view{} : network_file_system(files.lookup(0).path);
  if (!network.empty()) {
    // Many of these file systems cannot start a read and return: the ring then reads one after the other.
    refused = std::string(network) + " is read by threads";
    if (options.threads == 0) options.threads = kNetworkThreads;
  } else if (const int errnum = uring_refusal(); errnum != 0) {
    refused = refusal_text(errnum);
  } else {
    try {
      return {make(EngineKind::io_uring, files, options, on_read), found.empty() ? "storage" : "storage: " + found};
    } catch (const Error& error) {  // a small ring was allowed, but this one exceeds the limit on locked memory
      refused = "io_uring refused: " + error.cause();
    }
  }
  return {make(EngineKind::pread, files, options, on_read),
          refused + (found.empty() ? "" : "; " + found) + direct_io_note(EngineKind::pread, options)};
}

/// Tells whether some or all files of a dataset are objects in stores.
struct InStores {
  bool some = false, all = true;
};

InStores in_stores(const Dataset& dataset) {
  InStores found;
  if (!dataset.in_store()) return found;
  for (std::uint32_t file = 0; file < dataset.file_count(); ++file)
    (dataset.stored_object(file) != nullptr ? found.some = true : found.all = false);
  return found;
}

// A separate engine reads the local files of the same dataset. Its choice ignores the objects.
ChosenEngine for_stores(const Dataset& dataset, const EngineOptions& options, bool all, OnRead on_read) {
  const bool waits = options.kind == EngineKind::in_worker;
  const auto make_engine = [&](OnRead answer) -> std::unique_ptr<ReadEngine> {
    std::unique_ptr<ReadEngine> local;
    if (!all) {
      auto asked = asked_for(files_of(dataset), options, answer);
      if (!asked) asked = waiting_for_storage({}, files_of(dataset), options, answer);
      local = std::move(asked->engine);
    }
    return std::make_unique<StoreEngine>(dataset, options, answer, std::move(local), options.disk_cache);
  };
  std::string reason = all ? "objects in a store" : "objects in a store, and files";
  if (waits) return {std::make_unique<WaitingEngine>(make_engine, std::move(on_read)), std::move(reason)};
  return {make_engine(std::move(on_read)), std::move(reason)};
}

}  // namespace

ChosenEngine choose_engine(const Dataset& dataset, const EngineOptions& options, OnRead on_read) {
  if (const InStores found = in_stores(dataset); found.some) return for_stores(dataset, options, found.all, on_read);
  EngineFiles files = files_of(dataset);
  if (auto asked = asked_for(files, options, on_read)) return std::move(*asked);
  FileTable probed(files.count, files.lookup, table_options(files));
  files.probed = &probed;
  const Residency residency = probe_residency(probed, sampled_extents(dataset));
  const std::string found = to_string(residency);
  if (residency.resident() && !options.direct_io && options.scattered)
    return {make(EngineKind::mmap, files, options, on_read), "scattered records, resident: " + found};
  if (residency.resident() && !options.direct_io && options.rows && files.count <= GatherEngine::kMappings)
    return {make(EngineKind::mmap, files, options, on_read), "rows as they are stored, resident: " + found};
  if (residency.resident() && !options.direct_io)
    return {make(EngineKind::in_worker, files, options, on_read), "resident: " + found};
  return waiting_for_storage(found, files, options, on_read);
}

ChosenEngine choose_storage_engine(const EngineFiles& files, const EngineOptions& options, const OnRead& on_read) {
  if (auto asked = asked_for(files, options, on_read)) return std::move(*asked);
  return waiting_for_storage({}, files, options, on_read);
}

}  // namespace penstock
