// The shared files of AWS's tools, ~/.aws/config and ~/.aws/credentials.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

using Profile = std::map<std::string, std::string, std::less<>>;  ///< "s3.addressing_style" of nested lines

/// Profiles of both files by name. What the credentials file says comes first.
class Profiles {
 public:
  Profiles() = default;
  /// Sections "[profile NAME]" and "[default]" of the one, "[NAME]" of the other; other sections are left out. A line
  /// that is none is passed over, as AWS's tools do it.
  Profiles(std::string_view config, std::string_view credentials);

  /// From AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or where they usually are. Throws Error: io.
  static Profiles of_user();

  /// Null: there is none.
  const Profile* find(std::string_view name) const;

 private:
  std::map<std::string, Profile, std::less<>> profiles_;
};

/// AWS_PROFILE, AWS_DEFAULT_PROFILE, or "default".
std::string profile_of_user();

/// None where the profile has none, or an empty one.
std::optional<std::string> setting(const Profile* profile, std::string_view name);

}  // namespace penstock
