#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <penstock/steps.hpp>
#include <transforms/chain/parameter.hpp>
#include <transforms/chain/window.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostSteps = 65'536;
constexpr double kFarthest = 0x1p53;  // a double holds every integer up to here

// Returns the shortest text that parses to the same number.
std::string offset_text(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  return {text, end};
}

std::string quoted_name(const std::string& name) {
  const char quote = name.find('"') == std::string::npos ? '"' : '\'';
  return quote + name + quote;
}

Edge edge_of(const std::string& word) {
  if (word == "pad") return Edge::pad;
  if (word == "drop") return Edge::drop;
  throw Error::invalid_argument("window(): edge must be \"pad\" or \"drop\", not " + double_quoted(word));
}

void require_offsets(const WindowSpec& spec) {
  const auto refuse = [](const std::string& cause) { throw Error::invalid_argument("window(): " + cause); };
  if (spec.offsets.empty()) refuse("offsets must not be empty");
  if (spec.offsets.size() > kMostSteps)
    refuse(std::to_string(spec.offsets.size()) + " offsets are too many; at most " + std::to_string(kMostSteps) +
           " are possible");
  for (const double offset : spec.offsets) {
    if (!std::isfinite(offset)) refuse("offsets must be finite");
    if (!spec.at.empty()) continue;
    if (offset != std::floor(offset))
      refuse("offset " + offset_text(offset) +
             " must be a whole number of steps; with at=\"FIELD\", offsets are added to the numbers of that field");
    if (std::abs(offset) > kFarthest) refuse("offset " + offset_text(offset) + " is larger than any group");
  }
  if (!spec.at.empty() && !spec.order_by.empty())
    refuse("at cannot be combined with order_by, because it defines the order");
  for (const std::string* name : {&spec.group, &spec.order_by, &spec.at}) {
    if (name->find('"') != std::string::npos && name->find('\'') != std::string::npos)
      refuse(double_quoted(*name) + " must not contain both kinds of quotes");
  }
}

Chain window_chain(const std::string& alternatives, WindowSpec spec) {
  require_offsets(spec);
  Chain chain;
  if (!alternatives.empty()) chain.sources = alternatives_in(alternatives, "window");
  chain.window = std::make_shared<const WindowSpec>(std::move(spec));
  return chain;
}

using Chains = std::span<const std::pair<std::string, Chain>>;

// Returns the chain that defines the output's window: its own chain, or the chain that it follows. Returns null for
// cycles, which Program reports.
const std::pair<std::string, Chain>* head_of(Chains chains, const std::pair<std::string, Chain>& of) {
  const auto* at = &of;
  for (std::size_t hops = 0; hops <= chains.size(); ++hops) {
    if (at->second.window != nullptr) return at;
    if (!at->second.followed) return nullptr;
    const auto next = std::ranges::find(chains, *at->second.followed, &std::pair<std::string, Chain>::first);
    if (next == chains.end()) return nullptr;
    at = &*next;
  }
  return nullptr;
}

std::vector<std::string> sources_of(const std::pair<std::string, Chain>& output) {
  return output.second.sources.empty() ? std::vector{output.first} : output.second.sources;
}

std::vector<ChainWindow> windows_and_numbers(Chains chains, std::vector<std::uint32_t>& numbers) {
  std::vector<ChainWindow> windows;
  numbers.assign(chains.size(), 0);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const auto* head = head_of(chains, chains[i]);
    if (head == nullptr) continue;
    const std::vector<std::string> sources = sources_of(*head);
    const auto found = std::ranges::find_if(windows, [&](const ChainWindow& known) {
      return *known.spec == *head->second.window && known.sources == sources;
    });
    numbers[i] = static_cast<std::uint32_t>(found - windows.begin()) + 1;
    if (found == windows.end()) windows.push_back({head->second.window, sources, {}, head->first});
    ChainWindow& window = windows[numbers[i] - 1];
    const bool needs_none = std::ranges::any_of(chains[i].second.steps, [](const Step& step) {
      return step.is<step::WindowValid>() || step.is<step::ValidMask>() || step.is<step::Lengths>();
    });
    if (needs_none && chains[i].second.sources.empty()) continue;
    std::vector<std::string> own = sources_of(chains[i]);
    if (std::ranges::find(window.needs, own) == window.needs.end()) window.needs.push_back(std::move(own));
  }
  return windows;
}

}  // namespace

Chain window(const std::string& alternatives, const WindowOptions& options) {
  return window_chain(alternatives,
                      {options.offsets, options.group, edge_of(options.edge), options.order_by, options.at});
}

Chain window_from(StepArguments& given) {
  const Argument& offsets = given.get(1, "offsets");
  WindowSpec spec;
  spec.offsets = offsets.numbers;
  if (!offsets.words.empty() || (!offsets.list && offsets.numbers.empty()))
    throw Misfit("offsets must be a list of numbers");
  const auto word = [&](std::size_t place, std::string_view name) {
    const Argument* found = given.find(place, name);
    return found == nullptr || found->none ? std::string() : StepArguments::word(*found, name);
  };
  const std::string alternatives = word(0, "field");
  spec.group = word(2, "group");
  const std::string edge = word(StepArguments::kByKeyword, "edge");
  spec.edge = edge.empty() ? Edge::pad : edge_of(edge);
  spec.order_by = word(StepArguments::kByKeyword, "order_by");
  spec.at = word(StepArguments::kByKeyword, "at");
  given.none_left();
  return window_chain(alternatives, std::move(spec));
}

std::string to_string(const WindowSpec& spec, std::span<const std::string> sources) {
  std::string names, offsets;
  for (const std::string& source : sources) names += (names.empty() ? "" : "|") + source;
  for (const double offset : spec.offsets) offsets += (offsets.empty() ? "" : ", ") + offset_text(offset);
  std::string line = "window(" + (names.empty() ? "" : quoted_name(names) + ", ") + "offsets=[" + offsets + "]";
  if (!spec.group.empty()) line += ", group=" + quoted_name(spec.group);
  line += std::string(", edge=") + (spec.edge == Edge::pad ? "\"pad\"" : "\"drop\"");
  if (!spec.order_by.empty()) line += ", order_by=" + quoted_name(spec.order_by);
  if (!spec.at.empty()) line += ", at=" + quoted_name(spec.at);
  return line + ")";
}

const StepTable& step::WindowValid::table() {
  static const TableOf<WindowValid> table{
      "window_valid",
      "Comes after follow(\"OUTPUT\"). The chain of OUTPUT must begin with window(). Gives bool (offsets,): True for "
      "steps of the row's group, False for a step outside it, which repeats the nearest one. The key_padding_mask of "
      "PyTorch's attention is the opposite: pass ~window_valid. Reads no field."};
  return table;
}

Chain window_valid() {
  return one_step(step::WindowValid{});
}

std::vector<ChainWindow> windows_of(Chains chains) {
  std::vector<std::uint32_t> numbers;
  return windows_and_numbers(chains, numbers);
}

std::vector<std::uint32_t> window_numbers(Chains chains) {
  std::vector<std::uint32_t> numbers;
  windows_and_numbers(chains, numbers);
  return numbers;
}

}  // namespace penstock
