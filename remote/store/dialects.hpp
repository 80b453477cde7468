// All kinds of stores that there are, in one list.
#pragma once

#include <memory>
#include <vector>

#include <remote/http/dialect.hpp>
#include <remote/http/transport.hpp>

namespace penstock {

/// `transport` is for requests that dialects make themselves (credentials), and outlives them.
std::vector<std::unique_ptr<Dialect>> make_dialects(Transport& transport);

}  // namespace penstock
