#include <algorithm>
#include <array>

#include <base/amounts.hpp>
#include <base/cores.hpp>
#include <penstock/stats.hpp>
#include <record/time/read_trend.hpp>

namespace penstock {
namespace {

constexpr double kFed = 0.05;      // share of its time that a consumer may wait and still count as fed
constexpr double kMost = 0.5;      // share of the waits that one cause must explain
constexpr double kHalfIdle = 0.5;  // share of the workers' time below which the loader could deliver twice as much
constexpr double kIdle = 0.2;      // idle share of the workers' time above which workers are not the bottleneck
constexpr double kReady = 0.9;     // share of the batches that must be ready for the stages not to be the cause
constexpr double kGiant = 8;       // times the median: a sample this slow may delay its batch
constexpr double kComputes = 0.7;  // share of a stage's time on a core above which it computes rather than waits
constexpr double kLocked = 0.1;    // share of the custom transform's time above which a lock is the cause
constexpr std::uint64_t kFewBatches = 6;
constexpr std::size_t kReadsToTell = 16;

/// Derives the diagnosis from the statistics.
class Judge {
 public:
  explicit Judge(const Stats& stats)
      : stats_(stats),
        wall_(seconds_of(stats.wall)),
        wait_(seconds_of(stats.data_wait)),
        workers_(static_cast<unsigned>(stats.workers)) {
    for (const StageStats& stage : stats.stages) {
      const bool of_workers = stage.name == "decode" || stage.name == "transform" || stage.name == "deliver";
      if (of_workers) worked_ += seconds_of(stage.busy);
      if (stage.name == "read") reading_ = seconds_of(stage.busy), no_room_ = seconds_of(stage.room_wait);
      if (stage.name == "decode") without_room_ = seconds_of(stage.room_wait);
    }
    if (const Distribution* read = find("read")) read_by_workers_ = static_cast<double>(read->sum) * 1e-9;
    worked_ += read_by_workers_;
  }

  Verdict verdict() {
    verdict_.data_wait = wall_ > 0 ? wait_ / wall_ : 0;
    decide();
    return std::move(verdict_);
  }

 private:
  void say(Binds binds, std::string stage, std::string text) {
    verdict_.binds = binds;
    verdict_.stage = std::move(stage);
    verdict_.text = std::move(text);
  }
  /// Returns "the consumer waited 31 % of its time: WHY".
  std::string waits(const std::string& why) const {
    return "the consumer waited " + percent_text(verdict_.data_wait) + " of its time: " + why;
  }
  const Distribution* find(std::string_view name) const {
    for (const auto& [known, distribution] : stats_.histograms)
      if (known == name) return &distribution;
    return nullptr;
  }
  double share_of(std::initializer_list<std::string_view> stages) const {  // share of the waits
    double sum = 0;
    for (const auto& [stage, time] : stats_.data_wait_by_stage)
      if (std::ranges::find(stages, stage) != stages.end()) sum += seconds_of(time);
    return wait_ > 0 ? sum / wait_ : 0;
  }
  double at_work() const { return wall_ > 0 && workers_ > 0 ? worked_ / (wall_ * workers_) : 0; }

  void decide() {
    const Distribution* waited = find("data_wait");
    const std::chrono::nanoseconds longest{waited != nullptr ? waited->max : 0};
    if (const auto why = too_short({stats_.batches_taken, stats_.first_batch, longest, stats_.wall}))
      return say(Binds::start_up, "", *why);
    if (verdict_.data_wait < kFed) return fed();
    if (waited != nullptr && ready_all_the_same(*waited)) return;
    if (sharing() || custom_transform() || copy() || servers()) return;
    const double of_workers = share_of({"decode", "transform", "deliver"});
    const double read = share_of({"read"}), plan = share_of({"plan"});
    if (read >= kMost) return storage();
    if (of_workers >= kMost) return work();
    if (plan >= kMost)
      return say(Binds::plan, "plan",
                 waits("the scheduler thread is the bottleneck (" + percent_text(plan) +
                       " of the waits); use larger batches or fewer outputs"));
    if (read + of_workers >= kMost) return read > of_workers ? storage() : work();
    say(Binds::unknown, "", waits("no single stage explains half of it"));
  }

  // Nearly every batch was ready, yet taking it took long: the consumer's own thread waited for a core.
  bool ready_all_the_same(const Distribution& waits_of_next) {
    const double ready = static_cast<double>(stats_.batches_ready) / static_cast<double>(stats_.batches_taken);
    const double usual = static_cast<double>(waits_of_next.quantile(0.5)) * static_cast<double>(waits_of_next.count);
    if (ready < kReady || usual < kMost * static_cast<double>(waits_of_next.sum)) return false;
    say(Binds::cores, "",
        waits(percent_text(ready) + " of the batches were ready in advance, but taking one took " +
              time_text(static_cast<double>(waits_of_next.quantile(0.5)) * 1e-9) +
              ": the program's own thread waited for a core that the workers or others used; fewer workers help"));
    return true;
  }

  void fed() {
    const double load = at_work();
    const Distribution* step = find("step");
    const double taken = step != nullptr ? step->mean() * 1e-9 : 0;
    const std::string text = "the loader keeps up with the consumer, which waited " + percent_text(verdict_.data_wait) +
                             " of its time and takes " + time_text(taken) + " for a batch; the workers were at work " +
                             percent_text(load) + " of their time";
    say(load < kHalfIdle ? Binds::consumer : Binds::nothing, "", text);
  }

  // Stages after the first are custom transforms and copies.
  bool custom_transform() {
    for (const auto& [stage, time] : stats_.data_wait_by_stage) {
      const bool known = std::ranges::find(kOfLoader, stage) != kOfLoader.end();
      if (known || wait_ <= 0 || seconds_of(time) / wait_ < kMost) continue;
      say(Binds::custom_transform, stage,
          waits("the stage '" + stage + "' runs in one thread and takes " +
                time_text(of_stage(stage) / static_cast<double>(stats_.batches_taken)) + " for a batch" +
                of_custom_transform(of_stage(stage))));
      return true;
    }
    return false;
  }
  // Says whether it waits for the interpreter's lock or computes. Other waits cannot be distinguished.
  std::string of_custom_transform(double busy) const {
    const double lock = busy > 0 ? seconds_of(stats_.custom_transform_awaits_lock) / busy : 0;
    const double on = busy > 0 ? seconds_of(stats_.custom_transform_on_cores) / busy : 0;
    const std::string processes = "python_workers=" + std::to_string(usable_cores());
    if (lock >= kLocked)
      return ", " + percent_text(lock) +
             " of it waiting for the interpreter's lock, which other Python code of the program held: " + processes +
             " helps, but more workers do not";
    return ", " + percent_text(on) + (on >= kComputes ? " of it computing" : " of it on a core") +
           ": more workers do not help, but functions of single samples with " + processes + " do";
  }
  bool sharing() {
    if (share_of({"share"}) < kMost) return false;
    say(Binds::sharing, "share",
        waits("no shared batch was ready. The process that builds them is the bottleneck, or the slowest loader is; "
              "stats() of the loader that builds says which"));
    return true;
  }
  bool servers() {
    if (stats_.servers.empty() || share_of({"read"}) < kMost) return false;
    const auto ready = std::ranges::count_if(stats_.servers, &ServerStats::ready);
    std::string why =
        text_of("%zu of %zu servers fill the batches, too slowly: more servers, or more cores for them, help",
                static_cast<std::size_t>(ready), stats_.servers.size());
    const auto broken =
        std::ranges::find_if(stats_.servers, [](const auto& server) { return !server.problem.empty(); });
    if (broken != stats_.servers.end()) why += "; " + broken->address + ": " + broken->problem;
    say(Binds::servers, "read", waits(why));
    return true;
  }
  bool copy() {
    if (share_of({"copy"}) < kMost) return false;
    say(Binds::copy, "copy",
        waits("copies to the device take " +
              time_text(seconds_of(stats_.copy_time) / static_cast<double>(stats_.batches_taken)) + " for a batch"));
    return true;
  }
  double of_stage(std::string_view name) const {
    for (const StageStats& stage : stats_.stages)
      if (stage.name == name) return seconds_of(stage.busy);
    return 0;
  }

  void work() {
    const Distribution* samples = find("sample");
    const double idle = 1 - at_work();
    verdict_.output = slowest_output();
    const std::string stage = longest_wait({"decode", "transform", "deliver"});
    if (samples != nullptr && idle >= kIdle && without_room_ >= kMost * idle * wall_ * workers_) {
      const double median = static_cast<double>(samples->quantile(0.5));
      const auto longest = static_cast<double>(samples->max);
      std::string why = "workers were idle for " + percent_text(idle) +
                        " of their time, because no further batch may begin before the next one is done";
      if (median > 0 && longest >= kGiant * median) {
        why += text_of(": samples take %s, but up to %s (%s)", time_text(median * 1e-9).c_str(),
                       time_text(longest * 1e-9).c_str(), giants().c_str());
      }
      return say(Binds::prefetch, stage, waits(why + "; with more prefetch they can fill other batches meanwhile"));
    }
    cores(stage);
  }

  void cores(const std::string& stage) {
    if (verdict_.output.empty()) verdict_.output = slowest_output();
    const double busy = worked_, on = seconds_of(stats_.workers_on_cores);
    const unsigned cores = usable_cores();
    std::string why = stage + " takes " + time_text(per_sample(of_stage(stage))) + " for a sample";
    if (!verdict_.output.empty()) why += ", most of it for '" + verdict_.output + "'";
    const bool one = workers_ == 1;
    why += text_of(one ? "; %u worker was at work %s of its time" : "; %u workers were at work %s of their time",
                   workers_, percent_text(std::min(1.0, at_work())).c_str());
    const double awaited = seconds_of(stats_.workers_await_cores);
    const bool contended = awaited >= kIdle * wall_ * workers_;
    if (contended)
      why += ", and waited " + percent_text(std::min(1.0, awaited / (wall_ * workers_))) +
             " of it for a core that others used";
    if (on > 0 && on < kComputes * (busy - awaited))
      why += ", and ran on a core only " + percent_text(on / (wall_ * workers_)) + " of it: more workers help";
    else if (on > 0 && on >= 0.85 * wall_ * cores)
      why += text_of("; all %u usable cores compute: smaller images or more cores help", cores);
    else if (workers_ < cores && !contended)
      why += text_of("; there are %u usable cores: more workers help", cores);
    say(Binds::cores, stage, waits(why));
  }

  void storage() {
    const double requests = static_cast<double>(std::max<std::uint64_t>(1, stats_.reads.requests));
    const double opens = static_cast<double>(stats_.reads.opens);
    const double opening = seconds_of(stats_.reads.opening);
    const double samples = static_cast<double>(std::max<std::uint64_t>(1, stats_.samples));
    const Distribution* request = find("request");
    const double latency = request != nullptr ? request->mean() * 1e-9 : 0;
    const double in_reads = latency * static_cast<double>(request != nullptr ? request->count : 0);
    if (opens >= 0.5 * samples && opening >= 0.4 * std::max(in_reads, 1e-9)) {
      return say(
          Binds::files, "read",
          waits(text_of("%.0f files were opened for %.0f samples, in %s each (%s of the time of reads): pack them, "
                        "or if they are shards, raise ulimit -n",
                        opens, samples, time_text(opening / opens).c_str(),
                        percent_text(std::min(1.0, opening / in_reads)).c_str())));
    }
    // Workers copy data from memory, so their cores are the bottleneck rather than storage.
    if (read_by_workers_ >= kMost * reading_ && seconds_of(stats_.workers_on_cores) >= kComputes * worked_)
      return cores("read");
    const auto by_level = trend_of(stats_.last_reads, by_bytes_under_way);
    const auto by_size = trend_of(stats_.last_reads, by_bytes);
    const double rate = static_cast<double>(stats_.bytes_read) / wall_;
    const std::string took = text_of("%.0f reads took %s each", requests, time_text(latency).c_str());
    const double share = std::max(by_level ? by_level->share : 0, by_size ? by_size->share : 0);
    if (share >= kMost) {
      return say(Binds::storage_bandwidth, "read",
                 waits(took + ", and longer with more bytes in flight: storage delivers " + decimal_bytes_text(rate) +
                       "/s; smaller packed files, a cache or faster storage help" + of_store()));
    }
    if (no_room_ >= kIdle * wall_)
      return say(Binds::memory, "read",
                 waits(took + ", however many were in flight, and " + percent_text(no_room_ / wall_) +
                       " of the time no memory was left for another one: a larger read_ahead_bytes helps"));
    if (!by_level && !by_size && stats_.last_reads.size() >= kReadsToTell)
      return say(Binds::storage_latency, "read",
                 waits(took +
                       ", all with the same size and the same number in flight, so it is unknown whether more at a "
                       "time would be faster: try more prefetch, or more workers if they read themselves" +
                       of_store()));
    const std::string more = reads_store(stats_)
                                 ? "more prefetch"
                                 : "engine io_uring, more prefetch, or more workers if they read themselves";
    say(Binds::storage_latency, "read",
        waits(took + ", however many bytes were in flight: more reads at a time (" + more + ") or larger reads help" +
              of_store()));
  }
  // Suggests remedies if reads of a store are the bottleneck. It does not select one, because a block shuffle changes
  // the order.
  std::string of_store() const {
    if (!reads_store(stats_)) return {};
    std::string text;
    if (const BlockOffer& offer = stats_.block_offer; offer.shuffle_block != 0) {
      text += text_of(
          "; shuffle=ps.shuffle.blocks(%llu) instead of a full shuffle makes one request for about %.0f samples "
          "instead of %.0f",
          static_cast<unsigned long long>(offer.shuffle_block), 1 / offer.requests_then,
          offer.requests / offer.requests_then);
    }
    if (!has_disk_cache(stats_) && stats_.epochs > 0)
      text += "; with disk_cache, later epochs read from the node's disk";
    return text;
  }

  double per_sample(double time) const { return stats_.samples == 0 ? 0 : time / static_cast<double>(stats_.samples); }
  std::string longest_wait(std::initializer_list<std::string_view> of) const {
    std::string longest(*of.begin());
    std::chrono::nanoseconds most{-1};
    for (const auto& [stage, time] : stats_.data_wait_by_stage)
      if (time > most && std::ranges::find(of, stage) != of.end()) most = time, longest = stage;
    return longest;
  }
  std::string slowest_output() const {
    const auto time = [](const OutputStats& output) { return output.decode + output.transform; };
    const auto most = std::ranges::max_element(stats_.outputs, {}, time);
    return most == stats_.outputs.end() ? "" : most->name;
  }
  std::string giants() const {
    std::string keys;
    for (const SlowSample& sample : stats_.slowest) {
      if (keys.size() > 60) break;
      keys += (keys.empty() ? "'" : ", '") + sample.key + "'";
    }
    return keys.empty() ? "unknown" : keys;
  }

  static constexpr std::array<std::string_view, 7> kOfLoader{"plan",    "read", "decode", "transform",
                                                             "deliver", "copy", "share"};
  const Stats& stats_;
  const double wall_, wait_;
  const unsigned workers_;
  double worked_ = 0;  // by the workers, including their own reads; all times here are in seconds
  double read_by_workers_ = 0;
  double reading_ = 0;       // by workers and engines
  double no_room_ = 0;       // of the scheduler, for the read window
  double without_room_ = 0;  // workers idle while the scheduler waits for a slab or room
  Verdict verdict_;
};

}  // namespace

std::string_view name(Binds binds) {
  switch (binds) {
    case Binds::unknown:
      return "unknown";
    case Binds::start_up:
      return "start-up";
    case Binds::nothing:
      return "nothing";
    case Binds::consumer:
      return "consumer";
    case Binds::plan:
      return "plan";
    case Binds::storage_bandwidth:
      return "storage bandwidth";
    case Binds::storage_latency:
      return "storage latency";
    case Binds::files:
      return "files";
    case Binds::cores:
      return "cores";
    case Binds::prefetch:
      return "prefetch";
    case Binds::memory:
      return "memory";
    case Binds::custom_transform:
      return "custom transform";
    case Binds::copy:
      return "copy";
    case Binds::servers:
      return "servers";
    case Binds::sharing:
      return "sharing";
  }
  return "unknown";
}

std::optional<std::string> too_short(const LoopTimes& loop) {
  if (loop.batches < kFewBatches || loop.wall <= loop.wall.zero())
    return text_of("too few batches for a diagnosis: %llu %s taken; the first came after %s",
                   static_cast<unsigned long long>(loop.batches), loop.batches == 1 ? "was" : "were",
                   time_text(seconds_of(loop.first_batch)).c_str());
  if (seconds_of(loop.longest) <= kMost * seconds_of(loop.wall)) return std::nullopt;
  return "the wait for one batch took most of the time, " + time_text(seconds_of(loop.longest)) + " of a run of " +
         time_text(seconds_of(loop.wall)) + ": measure a longer run";
}

Verdict verdict_of(const Stats& stats) {
  return Judge(stats).verdict();
}

}  // namespace penstock
