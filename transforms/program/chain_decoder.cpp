#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <formats/encodings.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/decoders.hpp>
#include <transforms/program/chain_decoder.hpp>
#include <transforms/program/program.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostIdle = 32;
constexpr std::size_t kMostSized = 256;

/// The compiled chains of a value depend on this.
struct Kind {
  std::string of;    ///< codec, dtype, channels or attributes; empty if no codec reads the value
  std::string size;  ///< the rest of the layout
  bool image = false;
};

Kind kind_of(const Peeked& peeked) {
  const Layout& layout = peeked.layout;
  const std::string_view codec = peeked.codec->name();
  Kind kind{.of = std::string(codec) + " " + std::string(name(layout.dtype)),
            .size = to_string(layout.shape),
            .image = layout.image};
  const bool text = kind_of_codec(codec) == ValueKind::text && !codec_traits(codec).members;
  if (layout.image) {
    kind.of += " " + std::to_string(layout.shape.back());
  } else if (layout.cloud) {
    for (const PointAttribute& attribute : cloud_decoder(peeked).header().attributes) {
      kind.of += " " + attribute.name + ":" + std::string(name(attribute.dtype));
    }
  } else if (!text) {
    kind.of += " " + kind.size;
  }
  return kind;
}

// Changes the chain so that images keep their own sizes. The number of its first step changes, as `place` says, so that
// all steps keep their draws.
std::optional<Chain> ragged(const Chain& chain, std::size_t& place) {
  Chain own = chain;
  if (!chain.steps.empty() && chain.steps.front().is<step::Decode>()) {
    auto decode = *chain.steps.front().as<step::Decode>();
    if (decode.ragged) return std::nullopt;
    decode.ragged = true;
    own.steps.front() = decode;
  } else {
    own.steps.insert(own.steps.begin(), step::Decode{.ragged = true});
    place -= 1;  // wraps around, and so does the number of the next step
  }
  return own;
}

}  // namespace

/// The chains, compiled for values of one kind.
struct ChainDecoder::Compiled {
  Compiled(std::string of, std::span<const FieldChain> chains, std::span<const FieldBytes> fields, std::size_t place)
      : kind(std::move(of)), schemas(copied(fields)), program(compiled(chains, fields, place)) {
    if (program.windows() != 0) throw Error::invalid_argument("a window needs a dataset");
  }

  static std::vector<FieldSchema> copied(std::span<const FieldBytes> fields) {
    std::vector<FieldSchema> schemas;
    for (const FieldBytes& field : fields) schemas.push_back(*field.schema);
    return schemas;
  }
  Program compiled(std::span<const FieldChain> chains, std::span<const FieldBytes> fields, std::size_t place) const {
    const auto first_value = [&](std::uint32_t field, const Codec*) {
      FirstBytes value({fields[field].bytes.begin(), fields[field].bytes.end()});
      value.exists = true;
      return value;
    };
    return Program(chains, {.fields = schemas, .first_value = first_value}, place);
  }

  const std::string kind;
  const std::vector<FieldSchema> schemas;
  const Program program;
};

/// The state of one call at a time.
struct ChainDecoder::Worker {
  explicit Worker(std::shared_ptr<const Compiled> of) : compiled(std::move(of)), filler(compiled->program) {}

  void decode(std::span<const FieldBytes> fields, const SampleContext& sample, const Memory& memory) {
    filler.begin(sample);
    for (const std::uint32_t number : compiled->program.order()) {
      const Output& output = compiled->program.outputs()[number];
      const std::uint32_t source = output.sources.front();
      const FieldBytes field{.schema = &compiled->schemas[source], .bytes = fields[source].bytes};
      filler.fill(number, field, memory(number, output.dtype, shape_of(number, output, field)));
    }
  }

  Shape shape_of(std::uint32_t number, const Output& output, const FieldBytes& field) {
    if (!output.ragged) return output.shape;
    const auto items = static_cast<std::int64_t>(filler.items(number, field));
    if (output.own_dimensions != 0) {
      const auto shape = filler.row_shape(number);
      return {shape.begin(), shape.end()};
    }
    Shape shape = output.shape;
    shape.insert(shape.begin(), items);
    return shape;
  }

  const std::shared_ptr<const Compiled> compiled;
  SlotFiller filler;
};

struct ChainDecoder::Peeker {
  // Values that no codec reads have an empty kind: their chains deliver bytes, or fail.
  std::vector<Kind> kinds_of(std::span<const FieldBytes> fields) {
    std::vector<Kind> kinds;
    for (const FieldBytes& field : fields) {
      try {
        kinds.push_back(kind_of(decoders.peek(field)));
      } catch (const Error&) {
        kinds.emplace_back();
      }
    }
    return kinds;
  }
  Decoders decoders{{.pixels = Pixels::stored}};
};

ChainDecoder::ChainDecoder(std::vector<FieldChain> chains) : chains_(std::move(chains)) {}
ChainDecoder::~ChainDecoder() = default;

template <class Idle, class Fits, class Make>
std::unique_ptr<Idle> ChainDecoder::take(std::vector<std::unique_ptr<Idle>>& from, const Fits& fits, const Make& make) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = std::find_if(from.rbegin(), from.rend(), [&](const auto& idle) { return fits(*idle); });
    if (found != from.rend()) {
      std::unique_ptr<Idle> taken = std::move(*found);
      from.erase(std::next(found).base());
      return taken;
    }
  }
  return make();
}

template <class Idle>
void ChainDecoder::give(std::vector<std::unique_ptr<Idle>>& to, std::unique_ptr<Idle> idle) {
  std::unique_ptr<Idle> oldest;  // destroyed after the lock is released
  const std::scoped_lock lock(mutex_);
  if (to.size() == kMostIdle) {
    oldest = std::move(to.front());
    to.erase(to.begin());
  }
  to.push_back(std::move(idle));
}

bool ChainDecoder::is_sized(const std::string& kind) {
  const std::scoped_lock lock(mutex_);
  return std::ranges::find(sized_, kind) != sized_.end();
}

void ChainDecoder::add_sized(const std::string& kind) {
  const std::scoped_lock lock(mutex_);
  if (sized_.size() == kMostSized) sized_.erase(sized_.begin());  // found again by another attempt
  sized_.push_back(kind);
}

std::vector<const FieldSchema*> ChainDecoder::schemas_of(std::span<const NamedBytes> fields) {
  std::vector<const FieldSchema*> schemas;
  const std::scoped_lock lock(mutex_);
  for (const NamedBytes& field : fields) {
    const Encoding* encoding = encoding_with_extension(field.extension);
    const std::string_view codec = encoding == nullptr ? "" : encoding->codec;
    auto found = std::ranges::find_if(
        schemas_, [&](const FieldSchema& schema) { return schema.name == field.name && schema.codec == codec; });
    if (found == schemas_.end()) {
      schemas_.push_back({.name = field.name, .codec = std::string(codec)});
      found = std::prev(schemas_.end());
    }
    schemas.push_back(&*found);
  }
  return schemas;
}

void ChainDecoder::decode(std::span<const NamedBytes> values, const SampleContext& sample, const Memory& memory) {
  std::vector<FieldBytes> fields;
  const std::vector<const FieldSchema*> schemas = schemas_of(values);
  for (std::size_t i = 0; i < values.size(); ++i) fields.push_back({.schema = schemas[i], .bytes = values[i].bytes});

  auto peeker = take(
      peekers_, [](const Peeker&) { return true; }, [] { return std::make_unique<Peeker>(); });
  const std::vector<Kind> kinds = peeker->kinds_of(fields);
  give(peekers_, std::move(peeker));
  std::string kind, sized_kind;
  for (const Kind& one : kinds) {
    kind += one.of + ";";
    sized_kind += one.of + one.size + ";";
  }
  const auto run = [&](const std::string& of, std::span<const FieldChain> chains, std::size_t place) {
    auto worker = take(
        workers_, [&](const Worker& idle) { return idle.compiled->kind == of; },
        [&] { return std::make_unique<Worker>(std::make_shared<const Compiled>(of, chains, fields, place)); });
    worker->decode(fields, sample, memory);
    give(workers_, std::move(worker));
  };
  if (!is_sized(kind)) {
    try {
      return run(kind, chains_, 0);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::shape) throw;
    }
    add_sized(kind);
  }
  std::size_t place = 0;
  if (chains_.size() == 1 && kinds.size() == 1 && kinds[0].image) {
    if (const auto own = ragged(chains_[0].second, place)) {
      const std::array<FieldChain, 1> chains{FieldChain{chains_[0].first, *own}};
      return run(kind + " ragged", chains, place);
    }
  }
  run(sized_kind, chains_, 0);
}

}  // namespace penstock
