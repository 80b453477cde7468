// Finds a token in the places where Google's tools look.
#pragma once

#include <string>

#include <remote/credentials/key_requests.hpp>
#include <remote/credentials/renewed.hpp>

namespace penstock {

/// Searches, in this order:
/// - PENSTOCK_ANONYMOUS: requests carry no token;
/// - GOOGLE_OAUTH_ACCESS_TOKEN, CLOUDSDK_AUTH_ACCESS_TOKEN;
/// - the file GOOGLE_APPLICATION_CREDENTIALS, or the file that `gcloud auth application-default login` wrote: of a user
///   (by refresh token) or of a service account (by a claim that its key signs);
/// - the metadata service of the machine, which has one second to answer (with STORAGE_EMULATOR_HOST only if
///   GCE_METADATA_HOST names it).
///
/// If nothing is found, the result has no secret. If an explicitly configured source fails, throws Error: io;
/// invalid_argument; unsupported (other kinds of files). The message names the source and contains no secrets.
Found<std::string> find_google_token(const KeyRequest& ask);

}  // namespace penstock
