#include <remote/text/profile_file.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// " #" and " ;" begin a comment; "#" inside a word does not.
std::string_view without_comment(std::string_view value) {
  for (std::size_t i = 1; i < value.size(); ++i)
    if ((value[i] == '#' || value[i] == ';') && (value[i - 1] == ' ' || value[i - 1] == '\t'))
      return without_blanks(value.substr(0, i));
  return value;
}

// Returns the profile's name; empty if the section is not a profile.
std::string_view profile_name(std::string_view section, bool needs_prefix) {
  section = without_blanks(section);
  if (section.starts_with("profile ") || section.starts_with("profile\t")) return without_blanks(section.substr(8));
  return !needs_prefix || section == "default" ? section : std::string_view();
}

// Adds the profiles of `text`. Settings that `profiles` already contains are kept.
void add_profiles(std::string_view text, bool needs_prefix, std::map<std::string, Profile, std::less<>>& profiles) {
  Profile* profile = nullptr;
  std::string outer;  // name of the setting that contains nested lines
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view content = without_blanks(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      const std::string_view name = profile_name(content.substr(1, content.find(']') - 1), needs_prefix);
      profile = name.empty() ? nullptr : &profiles[std::string(name)];
      outer.clear();
      continue;
    }
    const std::size_t equals = content.find('=');
    if (profile == nullptr || equals == std::string_view::npos) continue;
    const std::string key(without_blanks(content.substr(0, equals)));
    const std::string_view value = without_comment(without_blanks(content.substr(equals + 1)));
    const bool nested = line.front() == ' ' || line.front() == '\t';
    if (!nested) outer = value.empty() ? key : "";
    profile->emplace(nested && !outer.empty() ? outer + "." + key : key, value);
  }
}

}  // namespace

Profiles::Profiles(std::string_view config, std::string_view credentials) {
  add_profiles(credentials, false, profiles_);
  add_profiles(config, true, profiles_);
}

Profiles Profiles::of_user() {
  const auto config = small_file(in_home(variable("AWS_CONFIG_FILE").value_or("~/.aws/config")));
  const auto credentials = small_file(in_home(variable("AWS_SHARED_CREDENTIALS_FILE").value_or("~/.aws/credentials")));
  return {config.value_or(""), credentials.value_or("")};
}

const Profile* Profiles::find(std::string_view name) const {
  const auto found = profiles_.find(name);
  return found == profiles_.end() ? nullptr : &found->second;
}

std::string profile_of_user() {
  if (auto name = variable("AWS_PROFILE")) return *name;
  return variable("AWS_DEFAULT_PROFILE").value_or("default");
}

std::optional<std::string> setting(const Profile* profile, std::string_view name) {
  if (profile == nullptr) return std::nullopt;
  const auto found = profile->find(name);
  if (found == profile->end() || found->second.empty()) return std::nullopt;
  return found->second;
}

}  // namespace penstock
