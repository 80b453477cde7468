#include "loader_flags.hpp"

#include <string>
#include <utility>
#include <variant>

#include <bench/measure/units.hpp>
#include <loader/options/option_table.hpp>

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

// As parse_size() reads it.
std::string size_text(std::uint64_t bytes) {
  for (const auto& [shift, unit] : {std::pair{30, "GiB"}, std::pair{20, "MiB"}, std::pair{10, "KiB"}})
    if (bytes != 0 && (bytes >> shift << shift) == bytes) return std::to_string(bytes >> shift) + unit;
  return std::to_string(bytes);
}

struct Flag {
  CLI::App& command;
  LoaderOptions& options;
  const std::string name, help;

  CLI::Option* operator()(OptionEntry::Place<bool> place) const { return command.add_flag(name, place(options), help); }
  CLI::Option* operator()(OptionEntry::Bytes bytes) const {
    return command
        .add_option_function<std::string>(
            name, [&to = bytes.place(options)](const std::string& text) { to = parse_size(text); }, help)
        ->default_str(size_text(bytes.place(options)));
  }
  CLI::Option* operator()(const OptionEntry::Words& words) const {
    const std::vector<std::string_view> known = words.known();
    return command
        .add_option_function<std::string>(
            name, [&to = options, set = words.set](const std::string& word) { set(to, word); }, help)
        ->check(CLI::IsMember(std::vector<std::string>(known.begin(), known.end())))
        ->default_str(std::string(words.get(options)));
  }
  CLI::Option* operator()(OptionEntry::Place<std::filesystem::path> place) const {
    return command.add_option_function<std::string>(
        name, [&to = place(options)](const std::string& text) { to = text; }, help);
  }
  CLI::Option* operator()(OptionEntry::Place<std::optional<std::uint64_t>> place) const {
    return command.add_option(name, place(options), help);
  }
  template <typename Value>
  CLI::Option* operator()(OptionEntry::Place<Value> place) const {
    return command.add_option(name, place(options), help)->capture_default_str();
  }
  CLI::Option* operator()(std::monostate) const { return nullptr; }
  CLI::Option* operator()(const OptionEntry::ByHand&) const { return nullptr; }
};

}  // namespace

CLI::Option* add_loader_flag(CLI::App& command, LoaderOptions& options, std::string_view option,
                             std::string_view note) {
  const OptionEntry& entry = loader_option(option);
  return std::visit(Flag{command, options, flag_of(entry), help_of(entry.meaning) + std::string(note)}, entry.member);
}

}  // namespace penstock::cli
