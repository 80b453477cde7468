#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include <unistd.h>

#include <record/time/trace_writer.hpp>

namespace penstock {
namespace {

using Kind = TraceSpan::Kind;

// Process numbers that the system does not use, so that our lines are separate from those of the program.
constexpr std::int64_t kFirstProcess = std::int64_t{1} << 27;
enum TraceProcess : std::int64_t { loader, reads, slots };
enum TraceLine : std::uint64_t { consumer = 1, scheduler = 2, first_worker = 10 };

// Returns the difference between the system's clock and the loader's. The two cannot be read at once, so of several
// attempts the one with the shortest time between two readings counts.
nanoseconds unix_offset() {
  nanoseconds best{}, shortest = nanoseconds::max();
  for (int look = 0; look < 16; ++look) {
    const Clock::time_point before = Clock::now();
    const auto system = std::chrono::system_clock::now().time_since_epoch();
    const Clock::time_point after = Clock::now();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = system - (before + shortest / 2).time_since_epoch();
  }
  return best;
}

std::string json_text(std::string_view text) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, plain)) return '"' + std::string(text) + '"';
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// The position of a slice, to which flows can be bound.
struct SlicePlace {
  std::int64_t process;
  std::uint64_t line;
  Clock::time_point begin, end;
};

class TraceWriter {
 public:
  TraceWriter(TextFile& file, const TraceLog::Recorded& recorded, const TraceNames& names)
      : file_(file), out_(file.text()), recorded_(recorded), names_(names) {}
  void write();

 private:
  // ---- Text ----
  void number(std::int64_t value) {
    std::array<char, 24> digits{};
    const auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out_.append(digits.data(), end);
  }
  void microseconds(nanoseconds time) {
    std::int64_t whole = time.count() / 1000, part = time.count() % 1000;
    if (part < 0) part += 1000, --whole;
    number(whole);
    out_ += '.';
    for (const std::int64_t digit : {part / 100, part / 10 % 10, part % 10}) out_ += static_cast<char>('0' + digit);
  }
  void begin(std::string_view name, char phase, std::int64_t process, std::uint64_t line, Clock::time_point at) {
    if (std::exchange(begun_, true)) out_ += ",\n";
    out_ += R"({"name":)";
    out_ += json_text(name);
    out_ += R"(,"cat":"penstock","ph":")";
    out_ += phase;
    out_ += R"(","pid":)";
    number(process_ + process);
    out_ += R"(,"tid":)";
    number(static_cast<std::int64_t>(line));
    out_ += R"(,"ts":)";
    microseconds(at.time_since_epoch() + offset_ - base_);
    first_argument_ = true;
  }
  void end() {
    out_ += first_argument_ ? "}" : "}}";
    file_.put();
  }
  void name_argument(std::string_view name) {
    out_ += first_argument_ ? R"(,"args":{")" : R"(,")";
    first_argument_ = false;
    out_ += name;
    out_ += R"(":)";
  }
  void argument(std::string_view name, std::uint64_t value) {
    name_argument(name);
    number(static_cast<std::int64_t>(value));
  }
  void argument(std::string_view name, std::string_view value) {
    name_argument(name);
    out_ += json_text(value);
  }
  void slice(std::string_view name, std::int64_t process, std::uint64_t line, Clock::time_point at, nanoseconds took) {
    begin(name, 'X', process, line, at);
    out_ += R"(,"dur":)";
    microseconds(took);
  }
  void part(std::string_view name, std::uint64_t line, Clock::time_point at, nanoseconds took) {
    if (took <= nanoseconds{}) return;
    slice(name, loader, line, at, took);
    end();
  }
  void batch_of(const TraceSpan& span) {
    argument("epoch", span.epoch);
    argument("batch", span.number);
  }
  void name(std::int64_t process, std::uint64_t line, std::string_view text);
  void name_process(std::int64_t process, const std::string& text);
  void metadata(std::string_view what, std::int64_t process, std::uint64_t line);
  void asynchronous(std::string_view name, std::int64_t process, const TraceSpan& span);

  // ---- Views ----
  void index();
  void write_consumer();
  void write_scheduler();
  void write_worker(std::size_t worker);
  void write_row(std::uint64_t line, const RowTime& row);
  void write_stage(std::size_t stage);
  void write_reads();
  void write_slots();
  void write_flows();
  void flow(char phase, std::uint64_t id, const SlicePlace& place, Clock::time_point at);

  using TaskName = std::pair<std::uint64_t, std::uint32_t>;  // batch, first row

  TextFile& file_;
  std::string& out_;
  const TraceLog::Recorded& recorded_;
  const TraceNames& names_;
  const nanoseconds offset_ = unix_offset();
  // A JSON reader stores numbers as doubles. Microseconds since 1970 have so many digits that a double cannot
  // represent nanoseconds.
  const nanoseconds base_ =
      std::chrono::floor<std::chrono::seconds>(Clock::now().time_since_epoch() + offset_) - std::chrono::days(30);
  const std::int64_t process_ = kFirstProcess + 4 * std::int64_t{::getpid()};
  std::int64_t asynchronous_ = 0;  // number of ids used
  bool begun_ = false, first_argument_ = true;
  std::map<TaskName, std::pair<TraceSpan, SlicePlace>> tasks_;
  std::map<TaskName, SlicePlace> readings_;
  std::map<std::uint64_t, SlicePlace> delivered_;  // by batch: the next() that returned it
  std::vector<SlicePlace> plans_;
};

void TraceWriter::metadata(std::string_view what, std::int64_t process, std::uint64_t line) {
  begin(what, 'M', process, line, Clock::time_point(base_ - offset_));
}

void TraceWriter::name(std::int64_t process, std::uint64_t line, std::string_view text) {
  metadata("thread_name", process, line);
  argument("name", text);
  end();
  metadata("thread_sort_index", process, line);
  argument("sort_index", line);
  end();
}

void TraceWriter::name_process(std::int64_t process, const std::string& text) {
  metadata("process_name", process, 0);
  argument("name", text);
  end();
  metadata("process_labels", process, 0);
  argument("labels", names_.dataset);
  end();
  metadata("process_sort_index", process, 0);
  argument("sort_index", static_cast<std::uint64_t>(1000 + process));
  end();
}

void TraceWriter::asynchronous(std::string_view name, std::int64_t process, const TraceSpan& span) {
  begin(name, 'b', process, 0, span.begin);
  out_ += R"(,"id":)";
  number(++asynchronous_);
  if (span.kind == Kind::request)
    argument("bytes", span.bytes);
  else
    batch_of(span);
  end();
  begin(name, 'e', process, 0, span.begin + span.took);
  out_ += R"(,"id":)";
  number(asynchronous_);
  end();
}

// Finds the slices that belong together, from all lanes.
void TraceWriter::index() {
  for (std::size_t worker = 0; worker < recorded_.workers.size(); ++worker) {
    recorded_.workers[worker].spans.visit([&](const TraceSpan& span) {
      const SlicePlace place{loader, first_worker + worker, span.begin, span.begin + span.took};
      if (span.kind == Kind::task && span.batch != 0) tasks_.insert({{span.batch, span.first}, {span, place}});
    });
  }
  recorded_.consumer.spans.visit([&](const TraceSpan& span) {
    if (span.kind == Kind::next && span.batch != 0)
      delivered_.insert({span.batch, {loader, consumer, span.begin, span.begin + span.took}});
  });
  recorded_.scheduler.spans.visit([&](const TraceSpan& span) {
    if (span.kind == Kind::plan) plans_.push_back({loader, scheduler, span.begin, span.begin + span.took});
  });
}

void TraceWriter::write_consumer() {
  name(loader, consumer, "consumer");
  recorded_.consumer.spans.visit([&](const TraceSpan& span) {
    if (span.kind == Kind::next) {
      slice("next", loader, consumer, span.begin, span.took);
      if (span.batch != 0) batch_of(span);
      end();
    } else if (span.kind == Kind::step) {
      part("step", consumer, span.begin, span.took);
    }
  });
  recorded_.consumer.levels.visit([&](const Levels& levels) {
    const std::array<std::pair<std::string_view, std::uint64_t>, 4> counters{{{"batches ready", levels.ready},
                                                                              {"free slabs", levels.free_slabs},
                                                                              {"tasks", levels.tasks},
                                                                              {"bytes being read", levels.reading}}};
    for (const auto& [name, value] : counters) {
      begin(name, 'C', loader, 0, levels.at);
      argument("value", value);
      end();
    }
  });
}

void TraceWriter::write_scheduler() {
  name(loader, scheduler, "scheduler");
  recorded_.scheduler.spans.visit([&](const TraceSpan& span) {
    const char* what = span.kind == Kind::plan ? "plan" : span.kind == Kind::no_slab ? "no free slab" : "no room";
    if (span.kind != Kind::full) part(what, scheduler, span.begin, span.took);
  });
}

void TraceWriter::write_row(std::uint64_t line, const RowTime& row) {
  slice("sample", loader, line, row.begin, row.work());
  argument("key", names_.key_of(row.sample));
  argument("sample", row.sample);
  if (row.output < names_.outputs.size()) argument("output", names_.outputs[row.output]);
  argument("bytes", row.bytes);
  end();
  part("read", line, row.begin, row.read);
  part("decode", line, row.begin + row.read, row.decode);
  part("transform", line, row.begin + row.read + row.decode, row.transform);
}

void TraceWriter::write_worker(std::size_t worker) {
  const std::uint64_t line = first_worker + worker;
  name(loader, line, "worker " + std::to_string(worker));
  recorded_.workers[worker].spans.visit([&](const TraceSpan& span) {
    if (span.kind == Kind::task || span.kind == Kind::deliver) {
      slice(span.kind == Kind::task ? "rows" : "deliver", loader, line, span.begin, span.took);
      batch_of(span);
      if (span.kind == Kind::task) {
        argument("first", span.first);
        argument("rows", span.rows);
      }
      end();
    } else if (span.kind == Kind::piece || span.kind == Kind::mix) {
      slice(span.kind == Kind::piece ? "decode" : "transform", loader, line, span.begin, span.took);
      argument("what", span.kind == Kind::piece ? "a piece of another worker's sample" : "mixes the rows of a batch");
      end();
    }
  });
  recorded_.workers[worker].rows.visit([&](const RowTime& row) { write_row(line, row); });
}

void TraceWriter::write_stage(std::size_t stage) {
  const std::uint64_t line = first_worker + recorded_.workers.size() + stage;
  const std::string& title = names_.stages[stage];
  name(loader, line, title);
  recorded_.stages[stage].spans.visit([&](const TraceSpan& span) {
    if (span.kind == Kind::copy) return asynchronous(title, loader, span);
    slice(title, loader, line, span.begin, span.took);
    batch_of(span);
    end();
  });
}

// Places each read on the first free line, so that slices do not overlap.
void TraceWriter::write_reads() {
  std::vector<TraceSpan> ahead, requests;
  recorded_.requests.spans.visit(
      [&](const TraceSpan& span) { (span.kind == Kind::reading ? ahead : requests).push_back(span); });
  std::ranges::stable_sort(ahead, {}, &TraceSpan::begin);
  std::vector<Clock::time_point> free_from;
  for (const TraceSpan& span : ahead) {
    auto line = std::ranges::find_if(free_from, [&](Clock::time_point from) { return from <= span.begin; });
    if (line == free_from.end()) line = free_from.insert(line, span.begin);
    *line = span.begin + span.took;
    const auto number = static_cast<std::uint64_t>(line - free_from.begin()) + 1;
    readings_.insert({{span.batch, span.first}, {reads, number, span.begin, *line}});
    slice("read", reads, number, span.begin, span.took);
    batch_of(span);
    argument("first", span.first);
    argument("rows", span.rows);
    argument("bytes", span.bytes);
    end();
  }
  for (const TraceSpan& span : requests) asynchronous("request", reads, span);
  if (ahead.empty() && requests.empty()) return;
  name_process(reads, "penstock: reads");
  for (std::uint64_t line = 1; line <= free_from.size(); ++line) name(reads, line, "read " + std::to_string(line));
}

// A full slot is ready until next() returns its batch; after that the program holds it.
void TraceWriter::write_slots() {
  std::uint64_t used = 0;
  const auto show = [&](const char* what, const TraceSpan& span, Clock::time_point from, Clock::time_point to) {
    used = std::max<std::uint64_t>(used, span.lane + 1);
    if (to <= from) return;
    slice(what, slots, span.lane + 1, from, to - from);
    batch_of(span);
    end();
  };
  for (const TraceLane::Records& worker : recorded_.workers) {
    worker.spans.visit([&](const TraceSpan& span) {
      if (span.kind == Kind::filling) show("filling", span, span.begin, span.begin + span.took);
    });
  }
  recorded_.scheduler.spans.visit([&](const TraceSpan& span) {
    if (span.kind != Kind::full) return;
    const Clock::time_point until = span.begin + span.took;
    const auto given = delivered_.find(span.batch);
    const Clock::time_point held = given == delivered_.end() ? until : std::clamp(given->second.end, span.begin, until);
    show("ready", span, span.begin, held);
    show("held", span, held, until);
  });
  if (used == 0) return;
  name_process(slots, "penstock: slots");
  for (std::uint64_t slot = 0; slot < used; ++slot) name(slots, slot + 1, "slot " + std::to_string(slot));
}

void TraceWriter::flow(char phase, std::uint64_t id, const SlicePlace& place, Clock::time_point at) {
  begin("rows", phase, place.process, place.line, at);
  out_ += R"(,"id":)";
  number(static_cast<std::int64_t>(id));
  if (phase == 'f') out_ += R"(,"bp":"e")";
  end();
}

// Draws flows from the read to the worker and to the next() that returned the batch. If rows were not read ahead, the
// flow starts at the plan that sent them.
void TraceWriter::write_flows() {
  std::uint64_t id = 0;
  for (const auto& [task_name, task] : tasks_) {
    const auto& [span, place] = task;
    const auto reading = readings_.find(task_name);
    const auto given = delivered_.find(task_name.first);
    std::optional<SlicePlace> from;
    if (reading != readings_.end()) from = reading->second;
    if (!from) {
      const auto sent_by = std::ranges::lower_bound(plans_, span.sent, {}, &SlicePlace::end);
      if (sent_by != plans_.end() && sent_by->begin <= span.sent) from = *sent_by;
    }
    if (!from && given == delivered_.end()) continue;
    ++id;
    const Clock::time_point taken = place.begin;
    if (from) flow('s', id, *from, from->begin + (from->end - from->begin) / 2);
    flow(!from ? 's' : given == delivered_.end() ? 'f' : 't', id, place, taken);
    if (given == delivered_.end()) continue;
    const SlicePlace& next = given->second;
    const Clock::time_point finished = std::clamp(place.end, next.begin, next.end);
    flow('f', id, next, finished + (next.end - finished) / 2);
  }
}

void TraceWriter::write() {
  out_ += R"({"displayTimeUnit":"ms","baseTimeNanoseconds":)";
  number(base_.count());
  out_ += R"(,"penstock":{"dataset":)" + json_text(names_.dataset) + R"(,"engine":)" + json_text(names_.engine);
  for (const auto& [what, value] : {std::pair{"events", recorded_.events}, {"dropped", recorded_.dropped}}) {
    out_ += std::string(",\"") + what + "\":";
    number(static_cast<std::int64_t>(value));
  }
  for (const auto& [what, at] : {std::pair{"from", recorded_.from}, {"until", recorded_.until}}) {
    out_ += std::string(",\"") + what + "\":";
    microseconds(at.time_since_epoch() + offset_ - base_);
  }
  out_ += "},\n\"traceEvents\":[\n";
  index();
  name_process(loader, "penstock");
  write_consumer();
  write_scheduler();
  for (std::size_t worker = 0; worker < recorded_.workers.size(); ++worker) write_worker(worker);
  for (std::size_t stage = 0; stage < recorded_.stages.size(); ++stage) write_stage(stage);
  write_reads();
  write_slots();
  write_flows();
  out_ += "\n]}\n";
}

}  // namespace

void write_trace(TextFile& file, const TraceLog::Recorded& recorded, const TraceNames& names) {
  TraceWriter(file, recorded, names).write();
}

}  // namespace penstock
