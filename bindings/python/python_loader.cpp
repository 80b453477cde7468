#include "python_loader.hpp"

#include <set>
#include <vector>

#include <penstock/error.hpp>

#include "bind.hpp"
#include "dataset_views.hpp"
#include "options/loader_options.hpp"

namespace penstock::python {
namespace {

// Access requires the interpreter. Interpreter exit has no other way to find the loaders whose threads it must end.
std::set<PythonLoader*>& open_loaders() {
  static std::set<PythonLoader*> loaders;
  return loaders;
}

// Loaders that were closed inside their own step. The step's thread cannot wait for itself. Access requires the
// interpreter.
struct Buried {
  std::shared_ptr<Loader> loader;
  std::shared_ptr<PythonStep> step;
};
std::vector<Buried>& buried() {
  static std::vector<Buried> loaders;
  return loaders;
}

void end_buried() {
  std::vector<Buried> ended;
  std::erase_if(buried(), [&](Buried& each) {
    if (each.step->runs_here()) return false;
    ended.push_back(std::move(each));
    return true;
  });
  if (ended.empty()) return;
  const nb::gil_scoped_release released;
  for (Buried& each : ended) each.loader.reset();
  const nb::gil_scoped_acquire held;
  for (Buried& each : ended) each.step->clear();
}

std::shared_ptr<Loader> started(Dataset dataset, LoaderOptions options, const std::shared_ptr<PythonStep>& step) {
  end_buried();
  if (step != nullptr) {
    options.batch_transform = [step](Batch& batch) { step->run(batch); };
  }
  const WithoutInterpreter released;
  const ErrorContext where{.dataset = dataset.path().string()};
  return through_door(where, [&] { return std::make_shared<Loader>(std::move(dataset), std::move(options)); });
}

}  // namespace

PythonLoader::PythonLoader(Dataset dataset, LoaderOptions options, std::string note, std::shared_ptr<PythonStep> step)
    : note_(std::move(note)), step_(std::move(step)), loader_(started(std::move(dataset), std::move(options), step_)) {
  open_loaders().insert(this);
}

PythonLoader::PythonLoader(Loader loader) : loader_(std::make_shared<Loader>(std::move(loader))) {
  open_loaders().insert(this);
}

PythonLoader::~PythonLoader() {
  end();
}

void PythonLoader::require_open() const {
  if (::getpid() != process_) {
    throw Error::invalid_argument(
        "this loader was made before fork(), so its threads run in the parent process; make a loader in this process");
  }
  if (closed()) throw Error::invalid_argument("this loader is closed");
}

std::uint64_t PythonLoader::begin() {
  return use([this](Loader& loader) {
    if (std::exchange(under_way_, false)) loader.set_epoch(loader.epoch() + 1);
    ended_ = false;
    return ++iteration_;
  });
}

nb::object PythonLoader::next(std::uint64_t iteration, const HandOver& hand_over) {
  nb::object given;
  use_released([&](Loader& loader, WithoutInterpreter& released) {
    if (iteration != iteration_)
      throw Error::invalid_argument("this iterator has ended, because a later `for` over the loader has begun");
    if (ended_) return;
    under_way_ = true;
    const auto look_up = [this] {
      if (closing_.load(std::memory_order_relaxed))
        throw Error::invalid_argument("this loader was closed while next() waited for a batch");
      check_signals();
    };
    ended_ = !loader.next(look_up, [&](const Batch& batch) {
      released.end();
      check_signals();  // a Ctrl-C arrived at the end of the wait: the program never gets this batch
      given = hand_over(batch);
    });
    under_way_ = !ended_;
  });
  return given;
}

void PythonLoader::set_epoch(std::uint64_t epoch) {
  use([&](Loader& loader) {
    loader.set_epoch(epoch);
    under_way_ = false;
  });
}

std::string PythonLoader::restore(const LoaderState& state) {
  return use([&](Loader& loader) {
    std::string said = loader.restore(state);
    under_way_ = false;
    return said;
  });
}

Stats PythonLoader::stats() const {
  require_open();
  Stats stats = loader_->stats();
  if (!note_.empty()) stats.notes = stats.notes.empty() ? note_ : note_ + "; " + stats.notes;
  return stats;
}

Steps PythonLoader::steps() const {
  require_open();
  return loader_->steps();
}

void PythonLoader::mark_step() {
  use([](Loader& loader) { loader.mark_step(); });
}

void PythonLoader::trace(const std::filesystem::path& file, const TraceOptions& options) {
  use([&](Loader& loader) { loader.trace(file, options); });
  trace_ = options;
}

TraceSummary PythonLoader::end_trace() {
  const std::uint64_t max_events = std::exchange(trace_, std::nullopt).value_or(TraceOptions{}).max_events;
  const TraceSummary summary = use([](Loader& loader) { return loader.end_trace(); });
  if (summary.dropped > 0)
    nb::module_::import_("penstock._trace")
        .attr("warn_of_dropped")(text(summary.file.string()), summary.dropped, max_events);
  return summary;
}

bool PythonLoader::tracing() const {
  return !closed() && trace_.has_value() && ::getpid() == process_;
}

std::string PythonLoader::described() const {
  if (::getpid() != process_) return "penstock.Loader(made before fork())";
  if (closed()) return "penstock.Loader(closed)";
  const Dataset& dataset = loader_->dataset();
  const LoaderOptions& options = loader_->options();
  std::string told =
      "penstock.Loader(" + python::described(dataset) + ", " + std::to_string(loader_->batches()) + " batches of " +
      std::to_string(options.batch_size) + " per epoch, " + std::to_string(options.workers) +
      (options.max_workers > options.workers ? " to " + std::to_string(options.max_workers) : "") + " workers";
  if (options.world_size > 1)
    told += ", rank " + std::to_string(options.rank) + " of " + std::to_string(options.world_size);
  if (!options.device.empty()) told += ", " + options.device;
  return told + ")";
}

void PythonLoader::require_elsewhere() const {
  if (in_sum_over_ranks())
    throw Error::invalid_argument("all_reduce cannot use a loader, because the loader waits for all_reduce");
  if (step_ == nullptr || !step_->runs_here()) return;
  throw Error::invalid_argument("a function that a loader runs on its batches cannot use that loader");
}

void PythonLoader::close() {
  require_elsewhere();
  if (!tracing()) return end();
  try {
    end_trace();
  } catch (...) {
    end();
    throw;
  }
  end();
}

void PythonLoader::end() {
  open_loaders().erase(this);
  closing_.store(true, std::memory_order_relaxed);
  // Ends run() in the step's thread, which would otherwise finish its batch first.
  if (step_ != nullptr) step_->stop();
  if (step_ != nullptr && step_->runs_here()) {
    if (loader_ != nullptr) buried().push_back({std::move(loader_), step_});
    end_buried();
    return;
  }
  {
    const nb::gil_scoped_release released;
    // Waits until no other thread uses or ends the loader. A forked child has no such threads, and the mutex may stay
    // locked.
    std::unique_lock wait_for_others(mutex_, std::defer_lock);
    if (::getpid() == process_) wait_for_others.lock();
    loader_.reset();
  }
  if (step_ != nullptr) step_->clear();
  end_buried();
}

void PythonLoader::close_all() {
  end_threads();
  while (!open_loaders().empty()) (*open_loaders().begin())->end();
  end_buried();
}

}  // namespace penstock::python
