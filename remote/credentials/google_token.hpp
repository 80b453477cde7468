// Where Google's tools look for a token.
#pragma once

#include <string>

#include <remote/credentials/key_requests.hpp>
#include <remote/credentials/renewed.hpp>

namespace penstock {

/// Looks, in this order, at
/// - PENSTOCK_ANONYMOUS: none is wanted;
/// - GOOGLE_OAUTH_ACCESS_TOKEN, CLOUDSDK_AUTH_ACCESS_TOKEN;
/// - the file GOOGLE_APPLICATION_CREDENTIALS, or what `gcloud auth application-default login` wrote: of a user (by its
///   refresh token) or of a service account (by a claim that its key signs);
/// - the metadata service of the machine, which has a second to answer (with STORAGE_EMULATOR_HOST only where
/// GCE_METADATA_HOST names it). None found: no secret. Throws Error: io, invalid_argument, unsupported (files of other
/// kinds), for what was asked for by name and cannot be had; it tells where, and nothing that is secret.
Found<std::string> find_google_token(const KeyRequest& ask);

}  // namespace penstock
