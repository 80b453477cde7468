// Reads the shared files of AWS's tools, ~/.aws/config and ~/.aws/credentials.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

using Profile = std::map<std::string, std::string, std::less<>>;  ///< nested settings are named "s3.addressing_style"

/// Profiles of both files, by name. The credentials file takes precedence.
class Profiles {
 public:
  Profiles() = default;
  /// Reads sections "[profile NAME]" and "[default]" of `config`, and "[NAME]" of `credentials`. Other sections are
  /// ignored. Invalid lines are skipped, as in AWS's tools.
  Profiles(std::string_view config, std::string_view credentials);

  /// Reads the files named by AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or those in the usual places. Throws
  /// Error: io.
  static Profiles of_user();

  /// Returns null if it does not exist.
  const Profile* find(std::string_view name) const;

 private:
  std::map<std::string, Profile, std::less<>> profiles_;
};

/// Returns AWS_PROFILE, AWS_DEFAULT_PROFILE, or "default".
std::string profile_of_user();

/// Returns nothing if the setting is missing or empty.
std::optional<std::string> setting(const Profile* profile, std::string_view name);

}  // namespace penstock
