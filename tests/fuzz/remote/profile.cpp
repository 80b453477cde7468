#include <string>
#include <vector>

#include <penstock/error.hpp>
#include <remote/credentials/process.hpp>
#include <remote/text/profile_file.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

void require_settings(const Profile& profile) {
  for (const auto& [name, value] : profile) {
    for (const std::string* const text : {&name, &value})
      require(text->find('\n') == std::string::npos, "a setting of several lines");
    require(value.empty() || (value.front() != ' ' && value.back() != ' '), "a setting with blanks around it");
  }
}

}  // namespace

// The config file and, behind a zero byte, the credentials file.
void profile(Input input) {
  const std::string_view text = text_of(input);
  const std::size_t end = std::min(text.find('\0'), text.size());
  const Profiles profiles(text.substr(0, end), text.substr(std::min(end + 1, text.size())));
  for (const char* const name : {"default", "a", "profile a", ""}) {
    const Profile* const found = profiles.find(name);
    if (found == nullptr) continue;
    require_settings(*found);
    const auto command = setting(found, "credential_process");
    if (!command) continue;
    std::size_t bytes = 0;
    for (const std::string& word : words_of(*command)) bytes += word.size();
    require(bytes <= command->size(), "a command that is longer in words");
  }
}

}  // namespace penstock::fuzz
