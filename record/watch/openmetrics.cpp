#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <string_view>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <record/watch/openmetrics.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 5> kOwnLabels{"stage", "waits_for", "purpose", "verdict", "le"};

void require_label(std::string_view name) {
  const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  const bool first = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  if (!first || name.starts_with("__") || !std::ranges::all_of(name, good))
    throw Error::invalid_argument(
        "the name of a label must contain only letters, digits and underscores, and must not begin with a digit or "
        "two underscores, unlike \"" +
        one_line(name) + "\"");
  if (std::ranges::find(kOwnLabels, name) != kOwnLabels.end())
    throw Error::invalid_argument("the label \"" + std::string(name) + "\" is one of penstock's own: use another name");
}

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
}

std::string seconds_of(std::uint64_t nanoseconds) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%llu.%09llu", static_cast<unsigned long long>(nanoseconds / 1'000'000'000),
                static_cast<unsigned long long>(nanoseconds % 1'000'000'000));
  return text.data();
}

using Labels = std::vector<std::pair<std::string, std::string>>;

// The format requires all samples of a family to be together, so each family visits all loaders.
class Text {
 public:
  explicit Text(std::span<const LabelledFigures> loaders) : loaders_(loaders) {}

  enum class Kind : std::uint8_t { counter, gauge };
  /// each(loader, give) calls give(further labels, value as text) for each sample.
  template <typename Each>
  void family_of_loaders(const std::string& name, Kind kind, const char* unit, std::string_view help, Each each) {
    const std::string full = "penstock_" + name;
    const bool counts = kind == Kind::counter;
    text_ += "# TYPE " + full + (counts ? " counter\n" : " gauge\n");
    if (*unit != '\0') text_ += "# UNIT " + full + " " + unit + "\n";
    text_ += "# HELP " + full + " " + std::string(help) + "\n";
    for (const LabelledFigures& loader : loaders_) {
      each(loader, [&](const Labels& further, const std::string& value) {
        text_ += full + (counts ? "_total" : "");
        const char* separator = "{";
        for (const Labels* labels : {&loader.labels, &further}) {
          for (const auto& [label, said] : *labels) {
            text_ += separator + label + "=\"" + escaped(said) + "\"";
            separator = ",";
          }
        }
        text_ += (*separator == ',' ? "} " : " ") + value + "\n";
      });
    }
  }
  template <typename Each>
  void family(const std::string& name, Kind kind, const char* unit, std::string_view help, Each each) {
    family_of_loaders(name, kind, unit, help,
                      [each](const LabelledFigures& loader, const auto& give) { each(loader.figures, give); });
  }
  void number(const std::string& name, const char* unit, std::uint64_t Figures::*member, const char* help) {
    family(name, Kind::gauge, unit, help,
           [member](const Figures& figures, const auto& give) { give({}, std::to_string(figures.*member)); });
  }
  void counter(const Counter& one) {
    const bool time = one.unit == Counter::Unit::time;
    family(family_of(one), one.rule == Counter::Rule::counts ? Kind::counter : Kind::gauge,
           time                               ? "seconds"
           : one.unit == Counter::Unit::bytes ? "bytes"
                                              : "",
           one.meaning, [&](const Figures& figures, const auto& give) {
             give({}, time ? seconds_of(one.get(figures)) : std::to_string(one.get(figures)));
           });
  }
  template <typename Each>
  void stages(const std::string& name, const char* help, Each each) {
    family(name, Kind::counter, "seconds", help, [each](const Figures& figures, const auto& give) {
      for (const StageFigures& stage : std::span(figures.stages).first(figures.stage_count)) {
        each(stage, [&](Labels further, std::uint64_t time) {
          further.insert(further.begin(), {"stage", std::string(penstock::name(stage.kind))});
          give(further, seconds_of(time));
        });
      }
    });
  }
  void waiting() {
    if (std::ranges::none_of(loaders_, [](const LabelledFigures& loader) { return loader.waiting.has_value(); }))
      return;
    family_of_loaders("waiting_seconds", Kind::gauge, "seconds",
                      "How long the training loop has waited for its next batch; 0 if it does not wait.",
                      [](const LabelledFigures& loader, const auto& give) {
                        if (loader.waiting) give({}, seconds_of(static_cast<std::uint64_t>(loader.waiting->count())));
                      });
  }
  std::string end() {
    text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  std::span<const LabelledFigures> loaders_;
  std::string text_;
};

}  // namespace

std::string family_of(const Counter& counter) {
  if (!counter.metric.empty()) return std::string(counter.metric);
  std::string name(counter.name);
  if (name.ends_with("_s")) name += "econds";
  return counter.group.empty() ? name : std::string(counter.group) + "_" + name;
}

std::string openmetrics(std::span<const LabelledFigures> loaders) {
  for (const LabelledFigures& loader : loaders)
    for (const auto& [label, value] : loader.labels) require_label(label);
  using enum Text::Kind;
  Text text(loaders);
  for (const Counter& one : counters())
    if (one.metric != Counter::kNoFamily) text.counter(one);
  text.waiting();
  text.stages("data_wait_by_stage_seconds",
              "Time that the training loop waited for batches, by the stage that it waited for.",
              [](const StageFigures& stage, const auto& give) { give({}, stage.data_wait); });
  text.stages("stage_busy_seconds", "Time that the stage's threads worked.",
              [](const StageFigures& stage, const auto& give) { give({}, stage.busy); });
  text.stages("stage_wait_seconds", "Time that the stage's threads waited, for input or for room.",
              [](const StageFigures& stage, const auto& give) {
                give({{"waits_for", "input"}}, stage.input_wait);
                give({{"waits_for", "room"}}, stage.room_wait);
              });
  text.family("stage_threads", gauge, "", "Threads of the stage.", [](const Figures& figures, const auto& give) {
    for (const StageFigures& stage : std::span(figures.stages).first(figures.stage_count))
      give({{"stage", std::string(name(stage.kind))}}, std::to_string(stage.threads));
  });
  text.number("slabs_free", "", &Figures::free_slabs, "Batch buffers that are free.");
  text.number("ready_batches", "", &Figures::ready, "Finished batches that wait for the training loop.");
  text.number("tasks", "", &Figures::tasks, "Groups of rows that wait for a worker.");
  text.number("reading_bytes", "bytes", &Figures::reading, "Bytes that are being read from storage.");
  text.family("memory_bytes", gauge, "bytes", "Memory that the loader uses, by purpose.",
              [](const Figures& figures, const auto& give) {
                const auto of = [&](const char* purpose, std::uint64_t bytes) {
                  give({{"purpose", purpose}}, std::to_string(bytes));
                };
                of("slabs", figures.slab_bytes);
                of("read_window", figures.window_bytes);
                of("blocks", figures.block_cache_bytes);
                of("cache", figures.cache.used);
                of("device", figures.device_bytes);
              });
  text.family("binds", gauge, "", "1 for the bottleneck, which the labels verdict and stage name.",
              [](const Figures& figures, const auto& give) {
                const bool staged = figures.binds_stage != Figures::kNoStage;
                give({{"verdict", std::string(name(static_cast<Binds>(figures.binds)))},
                      {"stage", staged ? std::string(name(static_cast<StageKind>(figures.binds_stage))) : ""}},
                     "1");
              });
  return text.end();
}

}  // namespace penstock
