// The secret part of the live page's address.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// 128 random bits of the system, as 32 hexadecimal digits. Throws Error: io.
std::string random_token();
/// Takes the same time for any wrong token of the right length, so that an attacker cannot guess digit by digit.
bool same_token(std::string_view given, std::string_view token);

}  // namespace penstock
