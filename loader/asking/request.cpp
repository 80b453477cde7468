#include <algorithm>

#include <formats/io/hash.hpp>
#include <loader/asking/handshake.hpp>
#include <loader/asking/request.hpp>
#include <loader/sharing/notes.hpp>
#include <penstock/error.hpp>
#include <penstock/mix.hpp>

namespace penstock::asking {
namespace {

constexpr std::uint64_t kMostOutputs = 1024;
constexpr std::uint64_t kMostMixes = 64;

[[noreturn]] void refuse(const std::string& what) {
  throw Error::corrupt("a message of another process is wrong: " + what);
}

std::uint64_t count(sharing::WireReader& from, std::uint64_t most) {
  const std::uint64_t number = from.number();
  if (number > most) refuse("it has too many parts");
  return number;
}

void write(sharing::WireWriter& to, const MissingRows& rows) {
  to.number(rows.index());
  if (const auto* policy = std::get_if<Missing>(&rows)) to.number(static_cast<std::uint64_t>(*policy));
  if (const auto* whole = std::get_if<std::int64_t>(&rows)) to.number(static_cast<std::uint64_t>(*whole));
  if (const auto* real = std::get_if<double>(&rows)) to.real(*real);
}

MissingRows read_missing(sharing::WireReader& from) {
  const std::uint64_t kind = from.number();
  if (kind == 1) return static_cast<std::int64_t>(from.number());
  if (kind == 2) return from.real();
  const std::uint64_t policy = from.number();
  if (kind != 0 || policy > static_cast<std::uint64_t>(Missing::empty)) refuse("it has an unknown policy");
  return static_cast<Missing>(policy);
}

}  // namespace

Content Content::of(const Dataset& dataset) {
  constexpr std::uint64_t kSamples = 4096;
  Content content{.keys = dataset.fingerprint(), .checksums = 1};
  for (const std::string& name : dataset.classes()) content.lengths = mix64(content.lengths ^ fnv1a(name));
  const std::uint64_t step = std::max<std::uint64_t>(1, dataset.size() / kSamples);
  const auto fields = dataset.fields();
  for (std::uint64_t sample = 0; sample < dataset.size(); sample += step) {
    for (std::uint32_t field = 0; field < fields.size(); ++field) {
      const std::uint64_t length = dataset.length(sample, field);
      if (length == 0) continue;
      const std::uint64_t place = mix64(fnv1a(fields[field].name) ^ sample);  // formats list fields in several orders
      content.lengths += mix64(place ^ length);
      const auto sum = dataset.crc32c(sample, field);
      content.checksums = sum && content.checksums != 0 ? content.checksums + mix64(place ^ *sum) : 0;
    }
  }
  return content;
}

Recipe Recipe::of(const Dataset& dataset, const LoaderOptions& options, std::vector<FieldChain> chains,
                  std::string version) {
  const auto require = [&](bool good, const std::string& cause) {
    if (!good)
      throw Error::invalid_argument("servers cannot fill these batches: " + cause,
                                    {.dataset = dataset.path().string()});
  };
  require(options.mixture == nullptr, "a mixture has several datasets");
  require(options.windows == nullptr, "a row of window() consists of several samples");
  require(!options.device_options.gpu_direct && options.device_options.gpu_jpeg == 0,
          "gpu_direct and gpu_jpeg leave work to the device");
  Recipe recipe{.dataset = Content::of(dataset),
                .version = std::move(version),
                .batch_size = options.batch_size,
                .max_items = options.memory_options.max_items,
                .checksums = options.checksums,
                .transforms = std::move(chains),
                .mix = options.mix,
                .missing = options.missing,
                .missing_by_output = options.missing_by_output,
                .unreadable = options.read_options.unreadable};
  for (const auto& [output, chain] : recipe.transforms) {
    try {
      static_cast<void>(parse_chain(to_string(chain)));
    } catch (const Error&) {
      require(false, "output " + output +
                         " has a function of your own, which is not sent. Use batch_transform, which "
                         "runs in the loader, or steps of penstock");
    }
  }
  return recipe;
}

std::string Recipe::text() const {
  sharing::WireWriter to;
  for (const std::uint64_t part : {dataset.keys, dataset.lengths, dataset.checksums}) to.number(part);
  to.text(version);
  to.number(batch_size);
  to.number(max_items);
  to.number(static_cast<std::uint64_t>(checksums));
  to.number(transforms.size());
  for (const auto& [output, chain] : transforms) {
    to.text(output);
    to.text(to_string(chain));
  }
  to.number(mix.size());
  for (const Mix& each : mix) to.text(to_string(each));
  write(to, missing);
  to.number(missing_by_output.size());
  for (const auto& [output, rows] : missing_by_output) {
    to.text(output);
    write(to, rows);
  }
  to.number(unreadable.size());
  for (const std::string& key : unreadable) to.text(key);
  return to.take();
}

Recipe Recipe::parse(std::string_view text) {
  sharing::WireReader from(text);
  Recipe recipe;
  for (std::uint64_t* part : {&recipe.dataset.keys, &recipe.dataset.lengths, &recipe.dataset.checksums})
    *part = from.number();
  recipe.version = from.text();
  const std::uint64_t rows = from.number();
  if (rows == 0 || rows > UINT32_MAX) refuse("it has an invalid batch size");
  recipe.batch_size = static_cast<std::uint32_t>(rows);
  recipe.max_items = from.number();
  const std::uint64_t checks = from.number();
  if (checks > static_cast<std::uint64_t>(Checksums::always)) refuse("it has an unknown policy");
  recipe.checksums = static_cast<Checksums>(checks);
  for (std::uint64_t left = count(from, kMostOutputs); left != 0; --left) {
    std::string output = from.text();
    recipe.transforms.emplace_back(std::move(output), parse_chain(from.text()));
  }
  for (std::uint64_t left = count(from, kMostMixes); left != 0; --left) recipe.mix.push_back(parse_mix(from.text()));
  recipe.missing = read_missing(from);
  for (std::uint64_t left = count(from, kMostOutputs); left != 0; --left) {
    std::string output = from.text();
    recipe.missing_by_output.emplace_back(std::move(output), read_missing(from));
  }
  for (std::uint64_t left = count(from, kLongestHandshake); left != 0; --left) recipe.unreadable.push_back(from.text());
  if (!from.done()) refuse("it is longer than it says");
  return recipe;
}

LoaderOptions Recipe::options() const {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.prefetch = 4;
  options.transforms = transforms;
  options.mix = mix;
  options.missing = missing;
  options.missing_by_output = missing_by_output;
  options.checksums = checksums;
  options.memory_options.max_items = max_items;
  options.memory_options.reserved_batches = 1;
  options.read_options.unreadable = unreadable;
  if (!unreadable.empty()) options.on_error = OnError::mark;  // which they require; a batch with such a row fails
  options.publish = false;
  return options;
}

void write(sharing::WireWriter& to, const Ask& ask) {
  to.number(ask.number);
  sharing::write(to, ask.rows.at);
  std::vector<std::uint64_t> samples, positions;
  std::vector<std::uint32_t> occurrences;
  std::vector<std::uint8_t> valid;
  for (const Row& row : ask.rows.rows) {
    samples.push_back(row.sample);
    positions.push_back(row.position);
    occurrences.push_back(row.occurrence);
    valid.push_back(row.valid ? 1 : 0);
  }
  to.numbers<std::uint64_t>(samples);
  to.numbers<std::uint64_t>(positions);
  to.numbers<std::uint32_t>(occurrences);
  to.numbers<std::uint8_t>(valid);
}

Ask read_ask(sharing::WireReader& from, std::uint32_t batch_size, std::uint64_t samples) {
  Ask ask;
  ask.number = from.number();
  ask.rows.at = sharing::read_position(from);
  const auto numbers = from.numbers<std::uint64_t>(batch_size), positions = from.numbers<std::uint64_t>(batch_size);
  const auto occurrences = from.numbers<std::uint32_t>(batch_size);
  const auto valid = from.numbers<std::uint8_t>(batch_size);
  const std::size_t rows = numbers.size();
  if (rows == 0 || positions.size() != rows || occurrences.size() != rows || valid.size() != rows || !from.done())
    refuse("it has another number of rows");
  if (std::ranges::any_of(numbers, [&](std::uint64_t number) { return number >= samples; }))
    refuse("it has samples that the dataset lacks");
  for (std::size_t i = 0; i < rows; ++i)
    ask.rows.rows.push_back(
        {.sample = numbers[i], .position = positions[i], .valid = valid[i] != 0, .occurrence = occurrences[i]});
  return ask;
}

void write(sharing::WireWriter& to, const ValuesHead& head) {
  to.number(head.number);
  to.number(head.crc32c);
}

ValuesHead read_values_head(sharing::WireReader& from) {
  ValuesHead head{.number = from.number()};
  head.crc32c = from.small();
  return head;
}

}  // namespace penstock::asking
