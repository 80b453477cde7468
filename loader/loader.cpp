#include <algorithm>
#include <string>
#include <utility>

#include <unistd.h>

#include <penstock/formats/error.hpp>
#include <penstock/loader/cursor.hpp>
#include <penstock/loader/failures.hpp>
#include <penstock/loader/feeder.hpp>
#include <penstock/loader/loader.hpp>
#include <penstock/loader/selection.hpp>
#include <penstock/loader/waits.hpp>
#include <penstock/loader/worker.hpp>

namespace penstock {
namespace {

constexpr std::chrono::seconds kGrace{2};     // for reads that never come back, before their threads are left behind
constexpr std::uint32_t kReadAheadRows = 64;  // reads in flight that keep a disk busy

LoaderOptions resolved(const Dataset& dataset, LoaderOptions options) {
  const auto require = [&](bool good, const char* cause) {
    if (!good) throw Error::invalid_argument(cause, {.dataset = dataset.path().string()});
  };
  require(options.batch_size > 0, "batch_size must be at least 1");
  require(options.prefetch > 0, "prefetch must be at least 1");
  require(options.held > 0, "held must be at least 1");
  require(options.world > 0, "world must be at least 1");
  require(options.rank < options.world, "rank must be less than world");
  require(options.max_error_rate >= 0 && options.max_error_rate <= 1, "max_error_rate must be between 0 and 1");
  require(options.timeout.count() >= 0, "timeout must not be negative");
  require(options.workers <= 1024, "workers must be at most 1024");
  if (options.workers == 0) options.workers = usable_cores();
  options.shuffle_block = shuffle_block(dataset, options);
  return options;
}

Program compiled(const Dataset& dataset, const LoaderOptions& options) {
  const FieldCatalog catalog{dataset.fields(), [&](std::uint32_t field) {
                               std::vector<Piece> pieces;
                               for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
                                 if (dataset.locate(sample, field, pieces)) return read_field(dataset, sample, field);
                               }
                               return std::vector<std::byte>{};
                             }};
  try {
    return Program(options.fields, catalog);
  } catch (const Error& error) {
    throw error.in({.dataset = dataset.path().string()});
  }
}

PlanOptions plan_options(const LoaderOptions& options, const Selection& selection) {
  return {.samples = selection.samples,
          .shuffle = options.shuffle,
          .shuffle_block = *options.shuffle_block,
          .seed = options.seed,
          .batch_size = options.batch_size,
          .rank = options.rank,
          .world = options.world,
          .last = options.last};
}

// Ready batches, those being filled (enough rows to keep every worker, or the disk, busy), and the consumer's.
unsigned slab_count(const LoaderOptions& options, bool reads_ahead) {
  const std::uint32_t rows = std::max(2 * options.workers, reads_ahead ? kReadAheadRows : 0);
  const unsigned filling = 1 + (rows + options.batch_size - 1) / options.batch_size;
  return options.prefetch + filling + options.held;
}

// What workers read with where the engine reads ahead of them: replacements, shared blocks, second tries.
ChosenEngine synchronous_beside(const ChosenEngine& engine, const Dataset& dataset, EngineOptions options,
                                const Loader::EngineFactory& make_engine) {
  if (engine.engine->synchronous()) return {};
  options.kind = EngineKind::direct;
  return make_engine(dataset, options, PendingRead::done);
}

// Lives until the process ends: there is nobody left who could free it safely.
void leave_behind(std::shared_ptr<void> state) {
  static std::mutex mutex;  // guards left
  static std::vector<std::shared_ptr<void>> left;
  const std::scoped_lock lock(mutex);
  left.push_back(std::move(state));
}

}  // namespace

// The stages in the order that bytes travel. Threads start last and hold a share of this, so that one which never comes
// back from the kernel leaves what it touches alive.
struct Loader::State {
  State(Dataset opened, LoaderOptions chosen, const EngineFactory& make_engine)
      : dataset(std::move(opened)),
        options(resolved(dataset, std::move(chosen))),
        program(compiled(dataset, options)),
        selection(select_samples(dataset, program, options)),
        cursor(plan_options(options, selection)),
        engine(make_engine(dataset, options.engine, PendingRead::done)),
        fallback(synchronous_beside(engine, dataset, options.engine, make_engine)),
        blocks(options.block_cache),
        window(options.read_window),
        slabs(std::make_shared<SlabPool>(dataset, program.outputs(), options.batch_size, options.max_items,
                                         slab_count(options, !engine.engine->synchronous()))),
        delivery(slabs),
        failures(options.max_error_rate, (selection.samples + options.world - 1) / options.world),
        waits(clocks, !engine.engine->synchronous()) {
    for (std::size_t i = 0; i < slabs->size(); ++i) {
      assemblies.push_back(std::make_unique<Assembly>(slabs->slab(i), program.outputs().size()));
    }
    feeder = std::make_unique<Feeder>(shop, plan_options(options, selection), *engine.engine, assemblies);
  }

  ReadEngine& direct_engine() { return fallback.engine != nullptr ? *fallback.engine : *engine.engine; }

  static void start(const std::shared_ptr<State>& state);
  bool stop();
  void go_to(const Position& position);
  void require_same_process() const;
  Assembly* await(std::uint64_t number);
  std::string dump() const;

  const Dataset dataset;
  const LoaderOptions options;
  const Program program;
  const Selection selection;
  Cursor cursor;               // consumer's thread alone
  std::uint64_t sequence = 0;  // of the next batch in its generation; consumer's thread alone
  bool iterating = false;      // a `for` is under way; consumer's thread alone
  std::string notes;           // consumer's thread alone
  StageClocks clocks;
  ChosenEngine engine, fallback;
  BlockCache blocks;
  ReadWindow window;
  GroupPool groups;
  Queue<Group*> tasks;
  std::shared_ptr<SlabPool> slabs;
  std::vector<std::unique_ptr<Assembly>> assemblies;
  Delivery delivery;
  Failures failures;
  mutable std::mutex failures_mutex;  // guards failures: stats() may come from another thread
  Waits waits;
  std::atomic<unsigned> workers_observed{0};
  Workshop shop{.dataset = dataset,
                .program = program,
                .options = options,
                .samples = selection.samples,
                .included = selection.included,
                .direct = direct_engine(),
                .blocks = blocks,
                .window = window,
                .groups = groups,
                .tasks = tasks,
                .delivery = delivery,
                .slabs = *slabs,
                .clocks = clocks,
                .workers_observed = workers_observed};
  std::unique_ptr<Feeder> feeder;
  std::stop_source stopping;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<Thread> feeder_thread;
  const pid_t process = ::getpid();
};

void Loader::State::start(const std::shared_ptr<State>& state) {
  const std::stop_token stop = state->stopping.get_token();
  state->workers = std::make_unique<WorkerPool>(state, state->shop, state->options.workers, stop);
  state->feeder_thread =
      std::make_unique<Thread>("penstock-feed", [state, stop](std::stop_token) { state->feeder->run(stop); });
  state->go_to(state->cursor.position());
}

// From the source to the sink: nothing new begins, what is under way is skipped, then every thread is joined.
// False when some read never came back: what it may still write to must then live on.
bool Loader::State::stop() {
  delivery.begin_generation();
  stopping.request_stop();
  slabs->wake();
  window.wake();
  tasks.close();
  delivery.close();
  bool ended = feeder_thread->join_for(kGrace);
  ended &= workers->join_for(kGrace);
  ended &= engine.engine->stop(kGrace);
  return ended;
}

void Loader::State::go_to(const Position& position) {
  cursor.go_to(position);
  sequence = 0;
  iterating = false;
  feeder->go_to(position, delivery.begin_generation());
}

void Loader::State::require_same_process() const {
  if (::getpid() == process) return;
  throw Error::invalid_argument(
      "this loader was made before fork(): its threads live in the parent; make one in this process",
      {.dataset = dataset.path().string()});
}

Assembly* Loader::State::await(std::uint64_t number) {
  if (slabs->lent() >= options.held) {
    throw Error::resource("the consumer holds " + std::to_string(slabs->lent()) + " batches, as many as held = " +
                          std::to_string(options.held) + " allows: let go of one, or raise held");
  }
  waits.begin();
  Assembly* assembly = delivery.take(number, options.timeout);
  waits.end();
  if (assembly == nullptr) {
    throw Error::resource("no batch within " + std::to_string(options.timeout.count()) + " ms: " + dump(),
                          {.dataset = dataset.path().string()});
  }
  return assembly;
}

std::string Loader::State::dump() const {
  std::string text = std::to_string(delivery.ready()) + " batches ready, " + std::to_string(slabs->free_slabs()) +
                     " of " + std::to_string(slabs->size()) + " slabs free, " + std::to_string(slabs->lent()) +
                     " held, " + std::to_string(tasks.size()) + " tasks queued, engine " +
                     std::string(name(engine.engine->kind()));
  const auto key_of = [this](const Row& row) {
    return dataset.key(selection.included.empty() ? row.sample : selection.included[row.sample]);
  };
  for (const auto& assembly : assemblies) {
    if (assembly->in_progress() && assembly->generation() == delivery.generation())
      text += "; " + assembly->describe(key_of);
  }
  return text;
}

Loader::Loader(Dataset dataset, LoaderOptions options)
    : Loader(std::move(dataset), std::move(options), choose_engine) {}

Loader::Loader(Dataset dataset, LoaderOptions options, EngineFactory make_engine)
    : state_(std::make_shared<State>(std::move(dataset), std::move(options), make_engine)) {
  State::start(state_);
}

Loader::Loader(Loader&&) noexcept = default;

Loader::~Loader() {
  if (state_ == nullptr) return;
  // In a fork's child the threads to join are not there. A thread stuck in the kernel keeps what it may write to.
  if (::getpid() != state_->process || !state_->stop()) leave_behind(state_);
}

std::optional<Batch> Loader::next() {
  State& state = *state_;
  state.require_same_process();
  if (state.cursor.at_end()) {
    state.cursor.next_epoch();
    state.iterating = false;
    return std::nullopt;
  }
  Assembly& assembly = *state.await(state.sequence);
  ++state.sequence;
  state.cursor.advance();
  if (assembly.failure() != nullptr) {
    const std::exception_ptr failure = assembly.failure();
    {
      const std::scoped_lock lock(state.failures_mutex);
      state.failures.record(assembly.slab().epoch, {}, assembly.other_failures());
    }
    state.slabs->release(&assembly.slab());
    std::rethrow_exception(failure);
  }
  std::vector<BadSample> bad = assembly.take_bad();
  Batch batch(SlabPool::lend(state.slabs, &assembly.slab()));
  const std::scoped_lock lock(state.failures_mutex);
  state.failures.record(batch.epoch(), std::move(bad), 0);
  state.waits.got_batch(batch.size(), batch.slab()->delivered_bytes());
  return batch;
}

std::uint64_t Loader::batches() const {
  return state_->cursor.batches_per_epoch();
}

std::uint64_t Loader::epoch() const {
  return state_->cursor.position().epoch;
}

void Loader::set_epoch(std::uint64_t epoch) {
  state_->require_same_process();
  state_->go_to({.seed = state_->cursor.position().seed, .epoch = epoch});
}

LoaderState Loader::state() const {
  return state_->cursor.save(state_->dataset.fingerprint(), state_->program.version());
}

void Loader::restore(const LoaderState& saved) {
  state_->require_same_process();
  state_->go_to(state_->cursor.load(saved, state_->dataset.fingerprint()));
  if (saved.transforms != state_->program.version()) {
    state_->notes = "the restored state was made with other codecs or transforms: " + saved.transforms;
  }
}

Batch Loader::at(std::uint64_t epoch, std::uint64_t batch) {
  State& state = *state_;
  state.require_same_process();
  const auto pool = std::make_shared<SlabPool>(state.dataset, state.program.outputs(), state.options.batch_size,
                                               state.options.max_items, 1);
  Slab& slab = pool->slab(0);
  Assembly assembly(slab, state.program.outputs().size());
  const std::uint64_t seed = state.cursor.position().seed;
  PlanOptions options = plan_options(state.options, state.selection);
  options.seed = seed;
  const Plan plan(options, epoch);
  if (batch >= plan.batches()) {
    throw Error::invalid_argument("batch " + std::to_string(batch) + " of an epoch of " +
                                  std::to_string(plan.batches()));
  }
  plan.batch(batch, assembly.rows);
  name_rows(assembly, state.shop, {.seed = seed, .epoch = epoch, .start = 0, .batch = batch});
  assembly.begin(seed, 0, 0);
  Worker(state.shop).fill_batch(assembly);
  return Batch(SlabPool::lend(pool, &slab));
}

Stats Loader::stats() const {
  const State& state = *state_;
  Stats stats;
  state.waits.report(stats);
  {
    const std::scoped_lock lock(state.failures_mutex);
    state.failures.report(stats);
  }
  stats.excluded_samples = state.selection.excluded;
  stats.engine = state.engine.engine->kind();
  stats.engine_reason = state.engine.reason;
  stats.reads = state.engine.engine->stats();
  if (state.fallback.engine != nullptr) stats.reads += state.fallback.engine->stats();
  stats.bytes_read = stats.reads.bytes;
  stats.workers = state.options.workers;
  stats.workers_observed = state.workers_observed.load(std::memory_order_relaxed);
  stats.slabs = state.slabs->size();
  stats.slab_bytes = state.slabs->bytes();
  stats.window_bytes = state.window.reserved();
  stats.cache_bytes = state.blocks.bytes();
  stats.notes = state.notes;
  const unsigned readers = state.engine.engine->synchronous() ? stats.workers : state.options.engine.threads;
  const auto stage = [&](const char* name, unsigned threads, const StageClock& clock) {
    stats.stages.push_back({name, threads, clock.busy.get(), clock.stalled_in.get(), clock.stalled_out.get()});
  };
  stage("plan", 1, state.clocks.plan);
  stage("read", readers, state.clocks.read);
  if (!state.engine.engine->synchronous()) stats.stages.back().busy += stats.reads.busy;
  stage("decode", stats.workers, state.clocks.decode);
  stage("transform", stats.workers, state.clocks.transform);
  stage("deliver", stats.workers, state.clocks.deliver);
  return stats;
}

void Loader::reset_stats() {
  state_->clocks.reset();
  state_->waits.reset();
}

const Dataset& Loader::dataset() const {
  return state_->dataset;
}

const LoaderOptions& Loader::options() const {
  return state_->options;
}

Loader::iterator Loader::begin() {
  if (std::exchange(state_->iterating, true)) {
    set_epoch(epoch() + 1);
    state_->iterating = true;
  }
  return iterator(this);
}

Loader::iterator::iterator(Loader* loader) : loader_(loader), batch_(loader->next()) {}

Loader::iterator& Loader::iterator::operator++() {
  batch_.reset();  // before next(): a loop holds one batch at a time
  batch_ = loader_->next();
  return *this;
}

}  // namespace penstock
