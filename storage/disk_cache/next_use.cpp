#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <storage/disk_cache/next_use.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kEpochsAhead = 32;
constexpr std::size_t kUsesAhead = std::size_t{1} << 21;  // limit on uses known ahead

// Orders in which each sample occurs once per epoch. Such an order can be inverted: from a sample to its position.
class InverseUse : public NextUse {
 public:
  InverseUse(const OutlookOf& of, const PlanOptions& options, const std::stop_token& stop)
      : options_(options),
        entries_(of.dataset, of.program, of.selection, of.windows, of.block_bytes, stop),
        files_(of.dataset.file_count()),
        epoch_steps_(Plan(options, 0).batches() * options.batch_size) {
    view_ = make_view({.seed = options.seed, .shuffle_block = options.shuffle_block});
  }

  void go_to(const Position& position) override {
    auto view = make_view(position);
    const std::scoped_lock lock(mutex_);
    view_ = std::move(view);
  }

  std::uint64_t step_of(const Position& position) const override {
    const auto view = current();
    return view->begins(position.epoch) + position.batch * options_.batch_size;
  }

  std::uint64_t at(std::uint32_t file, std::uint64_t block, std::uint64_t from) const override {
    const auto view = current();
    std::uint64_t soonest = kNever;
    entries_.each(file, block,
                  [&](std::uint32_t entry) { soonest = std::min(soonest, step(*view, entry, from, soonest)); });
    return soonest;
  }

  void look_ahead(std::uint64_t from, bool anew, const OnUse& tell, const std::stop_token& stop) override {
    static_cast<void>(anew);
    {
      // Replaces the orders of past epochs with those of coming ones.
      const std::uint64_t epoch = from / std::max<std::uint64_t>(epoch_steps_, 1);
      const std::shared_ptr<const View> before = current();
      if (epoch > before->first + kEpochsAhead / 4) {
        auto next = make_view(before->position, epoch);
        const std::scoped_lock lock(mutex_);
        view_ = std::move(next);
      }
    }
    const auto view = current();
    std::uint64_t done = 0;
    for (std::uint32_t file = 0; file < files_; ++file)
      for (const BlockEntries::Run& run : entries_.runs(file)) {
        if (done++ % 256 == 0 && stop.stop_requested()) return;
        const std::uint64_t found = step(*view, run.entry, from, kNever);
        if (found != kNever) tell({file, run.first, run.last}, found);
      }
  }

  std::uint64_t looks_again() const override { return std::max<std::uint64_t>(epoch_steps_, 1); }
  bool neighbours_together() const override {
    return !options_.shuffle || options_.shuffle_block != 0 || options_.shuffle_window != 0;
  }

 private:
  struct View {
    Position position;  // an epoch may begin in its middle
    std::uint64_t first = 0;
    std::vector<SampleOrder> orders;  // of epochs [first, first + size)
    std::uint64_t epoch_steps = 0, started_steps = 0;

    // If an epoch starts in its middle, its batches are counted back from the end of the epoch.
    std::uint64_t begins(std::uint64_t epoch) const {
      const bool started = epoch == position.epoch && position.start != 0;
      return started ? (epoch + 1) * epoch_steps - started_steps : epoch * epoch_steps;
    }
    std::uint64_t start(std::uint64_t epoch) const { return epoch == position.epoch ? position.start : 0; }
  };

  std::shared_ptr<const View> current() const {
    const std::scoped_lock lock(mutex_);
    return view_;
  }

  std::shared_ptr<const View> make_view(const Position& position) const { return make_view(position, position.epoch); }
  std::shared_ptr<const View> make_view(const Position& position, std::uint64_t first) const {
    auto view = std::make_shared<View>();
    view->position = position;
    view->first = first;
    view->epoch_steps = epoch_steps_;
    view->started_steps = std::min(position.plan(options_).batches() * options_.batch_size, epoch_steps_);
    const SampleOrderOptions order{.samples = options_.samples,
                                   .shuffle = options_.shuffle,
                                   .shuffle_block = position.shuffle_block,
                                   .shuffle_window = options_.shuffle_window,
                                   .seed = position.seed};
    for (std::uint64_t i = 0; i < kEpochsAhead; ++i) view->orders.emplace_back(order, first + i);
    return view;
  }

  // Returns the first step of an entry at or after `from`, and before `until`.
  std::uint64_t step(const View& view, std::uint32_t entry, std::uint64_t from, std::uint64_t until) const {
    if (epoch_steps_ == 0 || entry >= options_.samples) return kNever;
    const std::uint64_t per_step = std::uint64_t{options_.batch_size} * options_.world;
    for (std::uint64_t epoch = std::max(view.first, from / epoch_steps_); epoch < view.first + view.orders.size();
         ++epoch) {
      const std::uint64_t begins = view.begins(epoch), start = view.start(epoch);
      if (begins >= until) return kNever;
      const std::uint64_t position = view.orders[epoch - view.first].position_of(entry);
      if (position < start) continue;
      if (options_.last == Last::drop && position >= options_.samples - (options_.samples - start) % per_step) continue;
      const std::uint64_t behind = position - start, in_step = behind % per_step;
      if (in_step / options_.batch_size != options_.rank) continue;
      const std::uint64_t found = begins + behind / per_step * options_.batch_size + in_step % options_.batch_size;
      if (found >= from) return found;
    }
    return kNever;
  }

  const PlanOptions options_;
  const BlockEntries entries_;
  const std::uint32_t files_;
  const std::uint64_t epoch_steps_;
  mutable std::mutex mutex_;  // guards view_
  std::shared_ptr<const View> view_;
};

// All other orders: walks through the coming batches, row by row.
class WalkedUse : public NextUse {
 public:
  WalkedUse(const OutlookOf& of, const PlanOptions& options)
      : options_(options),
        block_bytes_(of.block_bytes),
        rows_(of.dataset, of.program, of.selection, of.windows, block_bytes_) {
    go_to({.seed = options.seed, .shuffle_block = options.shuffle_block});
  }

  void go_to(const Position& position) override {
    const std::scoped_lock walking(walking_), lock(mutex_);
    uses_.clear();
    told_.clear();
    batches_.clear();
    next_ = position;
    plan_ = nullptr;
    ended_ = false;
  }

  std::uint64_t step_of(const Position& position) const override {
    const std::scoped_lock lock(mutex_);
    if (batches_.empty()) return same_place(position, next_) ? next_step_ : kNever;
    // Batches are stored in order, and the requested one is near the front.
    const auto found = std::ranges::find_if(batches_, [&](const Batch& batch) { return batch.at(position); });
    return found != batches_.end() ? found->step : same_place(position, next_) ? next_step_ : kNever;
  }

  std::uint64_t at(std::uint32_t file, std::uint64_t block, std::uint64_t from) const override {
    const std::scoped_lock lock(mutex_);
    const auto found = uses_.find(number(file, block));
    if (found == uses_.end()) return kNever;
    const auto use = std::ranges::lower_bound(found->second, from);
    return use != found->second.end() ? *use : kNever;
  }

  void look_ahead(std::uint64_t from, bool anew, const OnUse& tell, const std::stop_token& stop) override {
    const std::scoped_lock walking(walking_);
    forget_before(from);
    if (anew) {
      std::vector<std::pair<BlockRun, std::uint64_t>> known;
      {
        const std::scoped_lock lock(mutex_);
        for (const auto& [block, steps] : uses_) {
          const auto file = static_cast<std::uint32_t>(block >> 32), of_file = static_cast<std::uint32_t>(block);
          if (!steps.empty()) known.push_back({{file, of_file, of_file}, steps.front()});
        }
      }
      for (const auto& [run, step] : known) tell(run, step);
    }
    std::vector<Row> rows;
    std::vector<BlockRun> runs;
    while (!ended_ && told_.size() < kUsesAhead && !stop.stop_requested()) {
      if (plan_ == nullptr) plan_ = std::make_unique<Plan>(next_.plan(options_));
      if (!plan_->has(next_.batch)) {
        // If an epoch has no batch, later ones have none either.
        if (next_.batch == 0 && next_.start == 0) ended_ = true;
        const std::scoped_lock lock(mutex_);
        next_ = next_.first_of(next_.epoch + 1);
        plan_ = nullptr;
        continue;
      }
      plan_->batch(next_.batch, rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        rows_.list(rows[i].sample, runs);
        const std::uint64_t step = next_step_ + i;
        {
          const std::scoped_lock lock(mutex_);
          for (const BlockRun& run : runs)
            for (std::uint64_t block = run.first; block <= run.last; ++block) {
              std::vector<std::uint64_t>& steps = uses_[number(run.file, block)];
              if (!steps.empty() && steps.back() == step) continue;
              steps.push_back(step);
              told_.push_back({number(run.file, block), step});
            }
        }
        for (const BlockRun& run : runs) tell(run, step);
      }
      const std::scoped_lock lock(mutex_);
      batches_.push_back({next_.epoch, next_.start, next_.batch, next_step_});
      next_step_ += std::max<std::uint64_t>(options_.batch_size, rows.size());
      ++next_.batch;
    }
    const std::scoped_lock lock(mutex_);
    ahead_ = next_step_ > from ? next_step_ - from : 0;
  }

  std::uint64_t looks_again() const override {
    const std::scoped_lock lock(mutex_);
    return std::max<std::uint64_t>(ahead_ / 8, options_.batch_size);
  }
  bool neighbours_together() const override { return false; }

 private:
  struct Batch {
    std::uint64_t epoch, start, batch, step;
    bool at(const Position& position) const {
      return epoch == position.epoch && start == position.start && batch == position.batch;
    }
  };
  struct Use {
    std::uint64_t block, step;
  };
  static std::uint64_t number(std::uint32_t file, std::uint64_t block) { return std::uint64_t{file} << 32 | block; }
  static bool same_place(const Position& a, const Position& b) {
    return a.epoch == b.epoch && a.start == b.start && a.batch == b.batch;
  }

  void forget_before(std::uint64_t from) {
    const std::scoped_lock lock(mutex_);
    while (!batches_.empty() && batches_.front().step + options_.batch_size < from) batches_.pop_front();
    for (; !told_.empty() && told_.front().step < from; told_.pop_front()) {
      const auto found = uses_.find(told_.front().block);
      if (found == uses_.end()) continue;
      std::vector<std::uint64_t>& steps = found->second;
      steps.erase(steps.begin(), std::ranges::lower_bound(steps, from));
      if (steps.empty()) uses_.erase(found);
    }
  }

  const PlanOptions options_;
  const BlockBytes block_bytes_;
  std::mutex walking_;  // one walker at a time; guards rows_, plan_ and ended_
  RowBlocks rows_;
  std::unique_ptr<Plan> plan_;
  bool ended_ = false;
  mutable std::mutex mutex_;                                            // guards the members below
  Position next_;                                                       // next batch to walk through
  std::uint64_t next_step_ = 0;                                         // its first step
  std::uint64_t ahead_ = 0;                                             // steps known ahead at the last call
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> uses_;  // block -> steps, ascending
  std::deque<Use> told_;                                                // in the order of steps
  std::deque<Batch> batches_;
};

}  // namespace

std::unique_ptr<NextUse> NextUse::make(const OutlookOf& of, const PlanOptions& options, const std::stop_token& stop) {
  const bool once = options.draws == nullptr && options.mixed == nullptr && options.bucketed == nullptr;
  if (once && of.selection.listed <= of.longest_list) return std::make_unique<InverseUse>(of, options, stop);
  return std::make_unique<WalkedUse>(of, options);
}

}  // namespace penstock
