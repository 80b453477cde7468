// The one message between members: a word that names its version, and a descriptor.
#pragma once

#include <base/unforked.hpp>

namespace penstock {

/// False when it could not be sent at once.
bool send_descriptor(int socket, int descriptor);
/// None for what is no such message: the end of the other process, too.
UnforkedDescriptor receive_descriptor(int socket);

}  // namespace penstock
