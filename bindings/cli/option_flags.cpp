#include "option_flags.hpp"

#include <string>
#include <utility>
#include <variant>

#include <bench/measure/units.hpp>
#include <loader/options/option_table.hpp>
#include <pack/option_table.hpp>

namespace penstock::cli {
namespace {

// The first sentence, and of an experimental option the second, without the full stop.
std::string help_of(std::string_view meaning) {
  constexpr std::string_view kExperimental = "Experimental, no GPU has run it yet. ";
  const bool experimental = meaning.starts_with(kExperimental);
  if (experimental) meaning.remove_prefix(kExperimental.size());
  std::string_view told = first_sentence(meaning);
  if (told.ends_with('.')) told.remove_suffix(1);
  return (experimental ? "Experimental. " : "") + std::string(told);
}

// Writes a size in the form that parse_size() reads.
std::string size_text(std::uint64_t bytes) {
  for (const auto& [shift, unit] : {std::pair{30, "GiB"}, std::pair{20, "MiB"}, std::pair{10, "KiB"}})
    if (bytes != 0 && (bytes >> shift << shift) == bytes) return std::to_string(bytes >> shift) + unit;
  return std::to_string(bytes);
}

template <typename Options>
struct Flag {
  using Entry = OptionEntry<Options>;
  template <typename Value>
  using Place = typename Entry::template Place<Value>;
  CLI::App& command;
  Options& options;
  const std::string name, help;

  CLI::Option* operator()(Place<bool> place) const { return command.add_flag(name, place(options), help); }
  CLI::Option* operator()(typename Entry::Bytes bytes) const {
    return command
        .add_option_function<std::string>(
            name, [&to = bytes.place(options), name = name](const std::string& text) { to = parse_size(text, name); },
            help)
        ->default_str(size_text(bytes.place(options)));
  }
  CLI::Option* operator()(const typename Entry::Words& words) const {
    const std::vector<std::string_view> known = words.known();
    return command
        .add_option_function<std::string>(
            name, [&to = options, set = words.set](const std::string& word) { set(to, word); }, help)
        ->check(CLI::IsMember(std::vector<std::string>(known.begin(), known.end())))
        ->default_str(std::string(words.get(options)));
  }
  CLI::Option* operator()(const typename Entry::Text& text) const {
    CLI::Option* const flag = command.add_option_function<std::string>(
        name,
        [&to = options, text](const std::string& value) {
          text.set(to, value.empty() ? std::string(text.bare) : value);
        },
        help);
    if (!text.bare.empty()) flag->expected(0, 1)->option_text("SIZE");
    return flag->default_str(text.get(options));
  }
  CLI::Option* operator()(Place<std::filesystem::path> place) const {
    return command.add_option_function<std::string>(
        name, [&to = place(options)](const std::string& text) { to = text; }, help);
  }
  CLI::Option* operator()(Place<std::optional<std::uint64_t>> place) const {
    return command.add_option(name, place(options), help);
  }
  template <typename Value>
  CLI::Option* operator()(Place<Value> place) const {
    return command.add_option(name, place(options), help)->capture_default_str();
  }
  CLI::Option* operator()(std::monostate) const { return nullptr; }
  CLI::Option* operator()(const typename Entry::ByHand&) const { return nullptr; }
};

}  // namespace

CLI::Option* add_loader_flag(CLI::App& command, LoaderOptions& options, std::string_view option,
                             std::string_view note) {
  const LoaderOption& entry = loader_option(option);
  return std::visit(Flag<LoaderOptions>{command, options, flag_of(entry), help_of(entry.meaning) + std::string(note)},
                    entry.member);
}

void add_pack_flags(CLI::App& command, ConvertOptions& options, std::map<std::string_view, std::string>& by_hand) {
  constexpr std::size_t kWidth = 100;
  for (const PackOption* option : pack_options_of(kOfCommand)) {
    const std::string name = flag_of_keyword(option->name), help = lines_of(meaning_of(*option), kWidth, {});
    if (std::holds_alternative<PackOption::ByHand>(option->member))
      command.add_option(name, by_hand[option->name], help);
    else
      std::visit(Flag<ConvertOptions>{command, options, name, help}, option->member);
  }
}

}  // namespace penstock::cli
