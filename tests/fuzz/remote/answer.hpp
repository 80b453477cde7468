// What the targets of answers share: an answer made of an input, and what may go out to a server.
#pragma once

#include <remote/http/request.hpp>

#include "fuzz/target.hpp"

namespace penstock::fuzz {

/// The first byte chooses the status; lines of headers follow up to an empty one, and then the body.
HttpResponse answer_of(Input input);

/// Ends the process where the request's address or a header of it has a byte that would begin another header.
void require_one_request(const HttpRequest& request);

/// Ends the process where the text could not be shown on one line.
void require_short_line(std::string_view text, std::size_t longest, const char* what);

}  // namespace penstock::fuzz
