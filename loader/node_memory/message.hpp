// The only message between members: a word that identifies its version, and a descriptor.
#pragma once

#include <base/unforked.hpp>

namespace penstock {

/// Returns false if the message could not be sent at once.
bool send_descriptor(int socket, int descriptor);
/// Returns nothing if the bytes are not such a message, or if the other process has ended.
UnforkedDescriptor receive_descriptor(int socket);

}  // namespace penstock
