#include <algorithm>
#include <functional>
#include <map>

#include <formats/encodings.hpp>
#include <penstock/error.hpp>
#include <transforms/decoders.hpp>
#include <transforms/program/compile.hpp>
#include <transforms/program/missing_rows.hpp>
#include <transforms/program/output_program.hpp>
#include <transforms/program/points_program.hpp>
#include <transforms/program/program.hpp>
#include <transforms/program/windowed.hpp>

namespace penstock {
namespace {

const std::string kOriginOutput = "__origin__";
constexpr unsigned kTransformsVersion = 1;  ///< raise this if the same chain and bytes give other values

std::vector<FieldChain> default_chains(const FieldCatalog& catalog) {
  std::vector<FieldChain> chains;
  for (const FieldSchema& schema : catalog.fields) chains.emplace_back(schema.name, Chain{});
  return chains;
}

std::optional<std::uint32_t> find_output(std::span<const FieldChain> chains, const std::string& name) {
  for (std::uint32_t i = 0; i < chains.size(); ++i) {
    if (chains[i].first == name) return i;
  }
  return std::nullopt;
}

std::string names_of(std::span<const FieldChain> chains) {
  std::string names;
  for (const auto& [name, chain] : chains) names += (names.empty() ? "\"" : ", \"") + name + '"';
  return names;
}

/// Returns the image at the end of an output's follow() chain, or nothing if it follows none.
std::optional<std::uint32_t> find_leader(std::span<const FieldChain> chains, std::uint32_t output) {
  std::uint32_t at = output;
  for (std::size_t hops = 0; chains[at].second.followed; ++hops) {
    const std::string& followed = *chains[at].second.followed;
    const auto next = find_output(chains, followed);
    const auto fail = [&](const std::string& cause) {
      return Error::invalid_argument("output \"" + chains[output].first + "\": " + cause);
    };
    if (!next) throw fail("follow(\"" + followed + "\"): unknown output; expected one of " + names_of(chains));
    if (hops == chains.size()) throw fail("follow(\"" + followed + "\") leads back to itself");
    at = *next;
  }
  return at == output ? std::nullopt : std::optional(at);
}

/// Runs `work` and adds the sample's name to errors. A user's codec or transform may throw anything. Exceptions other
/// than Error are bugs in it, not invalid data, so their kind is one that no policy replaces or marks.
template <typename Work>
auto named(const SampleContext& sample, const FieldSchema& schema, Work work) {
  const auto where = [&] { return ErrorContext{.key = std::string(sample.key), .field = schema.name}; };
  try {
    return work();
  } catch (const Error& error) {
    throw error.in(where());
  } catch (const std::exception& error) {
    throw Error::resource(error.what(), where());
  } catch (...) {
    throw Error::resource("a codec or transform threw an object that is not a std::exception", where());
  }
}

/// Returns the first output of clouds, because its origins are delivered as an extra output. Returns nothing if there
/// is none, or if the user has an output of that name.
std::optional<std::uint32_t> first_of_clouds(std::span<const FieldChain> chains,
                                             std::span<const std::unique_ptr<OutputProgram>> programs) {
  if (find_output(chains, kOriginOutput)) return std::nullopt;
  for (std::uint32_t i = 0; i < programs.size(); ++i) {
    const PointsProgram* points = programs[i]->points();
    if (points != nullptr && points->plan().source == PointsPlan::Source::cloud) return i;
  }
  return std::nullopt;
}

/// Returns the output whose geometry, points or items this output uses, if it follows one.
std::optional<std::uint32_t> leader_of(std::span<const FieldChain> chains, std::uint32_t output,
                                       const std::function<bool(std::uint32_t)>& is_cloud) {
  const auto last = find_leader(chains, output);
  const Chain& chain = chains[output].second;
  if (!last || !follows_items(chain)) return last;
  const bool rows_of_points = find_step<step::Elements>(chain) != nullptr && is_cloud(*last);
  return rows_of_points ? last : find_output(chains, *chain.followed);
}

FieldChain origin_of(const std::string& output, const OutputProgram& program, const FieldCatalog& catalog) {
  Chain chain = points::origin();
  chain.followed = output;
  for (const std::uint32_t source : program.output().sources) chain.sources.push_back(catalog.fields[source].name);
  return {kOriginOutput, chain};
}

void check_composition(std::span<const FieldChain> chains) {
  for (std::uint32_t i = 0; i < chains.size(); ++i) {
    if (chains[i].first.empty()) throw Error::invalid_argument("an output has no name");
    if (find_output(chains, chains[i].first) != i) {
      throw Error::invalid_argument("two outputs have the name \"" + chains[i].first + "\"");
    }
    if (!chains[i].second.misuse.empty()) {
      throw Error::invalid_argument("output \"" + chains[i].first + "\": " + chains[i].second.misuse);
    }
  }
}

}  // namespace

std::uint32_t transform_id(std::string_view output, std::size_t step) {
  constexpr std::uint32_t kOffset = 0x811C9DC5U, kPrime = 0x01000193U;
  std::uint32_t hash = kOffset;
  const auto add = [&hash](char byte) { hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime; };
  for (const char byte : output) add(byte);
  add('\0');
  for (const char digit : std::to_string(step)) add(digit);
  return hash;
}

struct Program::State {
  std::vector<std::unique_ptr<OutputProgram>> programs;
  std::vector<std::optional<std::uint32_t>> leaders;
  std::vector<std::shared_ptr<const Codec>> own_codecs;  ///< null if the field's own codec is used
  std::vector<Output> outputs;
  std::vector<std::string> chains;
  std::vector<std::uint32_t> order;
  std::string version;
  std::uint32_t windows = 0;
};

Program::Program(std::span<const FieldChain> asked, const FieldCatalog& catalog, std::size_t first_place)
    : state_(std::make_unique<State>()) {
  std::vector<FieldChain> chains(asked.begin(), asked.end());
  if (chains.empty()) chains = default_chains(catalog);
  if (chains.empty()) throw Error::invalid_argument("the dataset has no fields");
  check_composition(chains);

  std::map<std::string, unsigned> codecs;
  State& state = *state_;
  state.programs.resize(chains.size());
  state.leaders.resize(chains.size());
  state.own_codecs.resize(chains.size());
  const auto compile_output = [&](std::uint32_t number) {
    OutputRequest request{
        .name = chains[number].first, .chain = chains[number].second, .sources = {}, .catalog = &catalog};
    request.first_place = first_place;
    if (const auto leader = state.leaders[number]) {
      request.leader = state.programs[*leader].get();
      const bool rows_of_points =
          request.leader->points() != nullptr && find_step<step::Elements>(request.chain) != nullptr;
      if (find_step<step::WindowValid>(request.chain) != nullptr) {
        // accepts any window
      } else if (follows_items(request.chain) && !rows_of_points) {
        if (!request.leader->traces_items())
          throw request.misuse(
              "\"" + chains[*leader].first +
              "\" has no items to follow; only boxes, arrays of different lengths, bytes and points have items");
      } else if (!request.leader->image_size() && request.leader->points() == nullptr) {
        throw request.misuse("\"" + chains[*leader].first +
                             "\" cannot be followed, because it is neither an image nor points");
      }
    }
    find_sources(request);
    state.own_codecs[number] = request.own_codec();
    state.programs[number] = compile(request);
    state.order.push_back(number);
    for (const std::uint32_t source : request.sources) {
      const Codec* codec = codec_named(catalog.fields[source].codec);
      if (codec != nullptr) codecs.emplace(codec->name(), codec->version());
    }
  };
  for (std::uint32_t i = 0; i < chains.size(); ++i) {
    state.leaders[i] = find_leader(chains, i);
    if (!state.leaders[i]) compile_output(i);
  }
  // Compiles followers that others follow first. The check of leaders above has excluded cycles.
  const std::function<void(std::uint32_t)> compile_follower = [&](std::uint32_t number) {
    if (state.programs[number] != nullptr) return;
    state.leaders[number] =
        leader_of(chains, number, [&](std::uint32_t last) { return state.programs[last]->points() != nullptr; });
    compile_follower(*state.leaders[number]);
    compile_output(number);
  };
  for (std::uint32_t i = 0; i < chains.size(); ++i) {
    if (state.leaders[i]) compile_follower(i);
  }
  if (const auto clouds = first_of_clouds(chains, state.programs)) {
    chains.push_back(origin_of(chains[*clouds].first, *state.programs[*clouds], catalog));
    state.programs.emplace_back();
    state.leaders.emplace_back(*clouds);
    state.own_codecs.emplace_back();
    compile_output(static_cast<std::uint32_t>(chains.size() - 1));
  }

  const WindowedChains windowed(chains);

  state.version = "transforms " + std::to_string(kTransformsVersion);
  for (const auto& [codec, version] : codecs) state.version += "; " + codec + " " + std::to_string(version);
  for (const auto& [name, chain] : chains) {
    state.chains.push_back(to_string(chain));
    state.version += "; " + name + " = " + state.chains.back();
  }
  for (const auto& program : state.programs) state.outputs.push_back(program->output());
  // A leader's geometry is needed, not only its row.
  for (const std::optional<std::uint32_t>& leader : state.leaders) {
    if (!leader) continue;
    if (state.outputs[*leader].keep == Keep::row) state.outputs[*leader].keep = Keep::bytes;
    // Nothing would decode the value of verbatim rows.
    state.outputs[*leader].verbatim = false;
  }
  windowed.apply(state.leaders, state.outputs);
  state.windows = windowed.windows();
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;

void Program::treat_missing(const MissingRows& otherwise, std::span<const MissingRowsOf> by_output) {
  penstock::treat_missing({state_->outputs, state_->order, state_->leaders}, otherwise, by_output);
}

std::span<const Output> Program::outputs() const {
  return state_->outputs;
}

std::span<const std::uint32_t> Program::order() const {
  return state_->order;
}

std::optional<std::uint32_t> Program::leader(std::uint32_t output) const {
  return state_->leaders.at(output);
}

std::uint32_t Program::windows() const {
  return state_->windows;
}

std::uint64_t Program::samples_of_row() const {
  std::uint64_t samples = 0;
  for (std::uint32_t window = 0; window <= windows(); ++window) {
    const auto of = std::ranges::find(state_->outputs, window, &Output::window);
    if (of != state_->outputs.end()) samples += of->steps;
  }
  return samples;
}

bool Program::select(std::uint32_t output, const FieldHeader& field, const SampleContext& sample,
                     std::vector<ByteRange>& ranges) const {
  return named(sample, *field.schema, [&] { return state_->programs.at(output)->select(field, sample, ranges); });
}

OutputAccount Program::explain(std::uint32_t output, const FieldBytes& field, const SampleContext& sample) const {
  OutputAccount account{.output = state_->outputs.at(output).name,
                        .chain = state_->chains[output],
                        .field = field.schema->name,
                        .codec = field.schema->codec,
                        .stored = {},
                        .outcomes = {}};
  const OutputProgram& program = *state_->programs[output];
  Decoders decoders({.upright = state_->outputs[output].upright}, state_->own_codecs[output].get());
  try {
    account.stored = program.read_as(field);
    if (!account.stored) {
      const Peeked peeked = decoders.peek(field);
      account.codec = peeked.codec->name();
      account.stored = peeked.layout;
    }
  } catch (const Error& error) {
    if (!program.takes_bytes()) throw error.in({.key = std::string(sample.key), .field = account.field});
    return account;
  }
  account.outcomes = program.explain(*account.stored, sample);
  if (codec_traits(account.codec).tokens)
    account.stored->dtype = field.schema->dtype;  // the codec delivers int64 for any dtype
  return account;
}

std::string Program::version() const {
  return state_->version;
}

struct SlotFiller::State {
  explicit State(const Program::State& compiled) : program(compiled) {}

  const Program::State& program;
  std::vector<std::unique_ptr<OutputRunner>> runners;
  std::vector<bool> filled;  ///< for the current sample
  SampleContext sample;
  FillWatch watch;
  std::vector<FillTimes> output_times;

  /// Adds the time of `work` to the output's times, even if it throws.
  template <typename Work>
  auto timed(std::uint32_t output, Work work) {
    struct Account {
      State& state;
      std::uint32_t output;
      FillTimes before;
      ~Account() {
        const FillTimes& now = state.watch.times;
        state.output_times[output].decode += now.decode - before.decode;
        state.output_times[output].transform += now.transform - before.transform;
      }
    };
    const Account account{*this, output, watch.times};
    watch.start();
    return work();
  }

  SlotRow row(std::uint32_t output, const FieldBytes& field, std::span<std::byte> slot) {
    const auto leader = program.leaders[output];
    if (leader && !filled[*leader]) {
      throw Error::invalid_argument("output \"" + program.outputs[output].name +
                                    "\" is filled before the output that it follows");
    }
    const OutputRunner* const followed = leader ? runners[*leader].get() : nullptr;
    return {.field = field,
            .sample = sample,
            .leader = followed != nullptr ? followed->placement() : nullptr,
            .points = followed != nullptr ? followed->trace() : nullptr,
            .items = followed != nullptr ? followed->items_trace() : nullptr,
            .slot = slot,
            .watch = watch};
  }
};

SlotFiller::SlotFiller(const Program& program, Parallel* parallel) : state_(new State(*program.state_)) {
  for (const auto& output : state_->program.programs) {
    state_->runners.push_back(output->runner());
    state_->runners.back()->share(parallel);
  }
  state_->filled.resize(state_->runners.size());
  state_->output_times.resize(state_->runners.size());
}

SlotFiller::~SlotFiller() = default;
SlotFiller::SlotFiller(SlotFiller&&) noexcept = default;

void SlotFiller::begin(const SampleContext& sample) {
  state_->sample = sample;
  state_->filled.assign(state_->filled.size(), false);
}

std::uint64_t SlotFiller::items(std::uint32_t output, const FieldBytes& field) {
  State& state = *state_;
  return named(state.sample, *field.schema, [&] {
    return state.timed(output, [&] {
      const std::uint64_t count = state.runners.at(output)->items(state.row(output, field, {}));
      state.watch.lap(state.watch.times.decode);
      return count;
    });
  });
}

void SlotFiller::fill(std::uint32_t output, const FieldBytes& field, std::span<std::byte> slot) {
  State& state = *state_;
  const Output& described = state.program.outputs.at(output);
  if (!described.ragged && slot.size() != described.step_bytes()) {
    throw Error::invalid_argument("the slot of output \"" + described.name + "\" has " + std::to_string(slot.size()) +
                                  " bytes, not " + std::to_string(described.step_bytes()));
  }
  const SlotRow row = state.row(output, field, slot);
  named(state.sample, *field.schema, [&] {
    state.timed(output, [&] {
      try {
        state.runners[output]->fill(row);
      } catch (...) {
        // A row that cannot be decoded took time too.
        state.watch.lap(state.watch.times.decode);
        throw;
      }
    });
    state.filled[output] = true;
  });
}

void SlotFiller::fill_missing(std::uint32_t output, std::span<std::byte> slot) {
  state_->runners.at(output)->leave_empty(slot);
  if (const auto& element = state_->program.outputs[output].fill) element->fill(slot);
  state_->filled[output] = true;
}

std::span<const std::int64_t> SlotFiller::row_shape(std::uint32_t output) const {
  return state_->runners.at(output)->row_shape();
}

std::optional<Geometry> SlotFiller::geometry(std::uint32_t output, const FieldBytes& field) {
  State& state = *state_;
  const SlotRow row = state.row(output, field, {});
  return named(state.sample, *field.schema, [&] {
    std::optional<Geometry> placed = state.timed(output, [&] {
      auto made = state.runners[output]->geometry(row);
      state.watch.lap(state.watch.times.decode);
      return made;
    });
    if (placed) state.filled[output] = true;
    return placed;
  });
}

FillTimes SlotFiller::times() const {
  return state_->watch.times;
}

std::span<const FillTimes> SlotFiller::output_times() const {
  return state_->output_times;
}

const Placement* SlotFiller::placement(std::uint32_t output) const {
  return state_->runners.at(output)->placement();
}

}  // namespace penstock
