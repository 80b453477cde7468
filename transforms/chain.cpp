#include <penstock/transforms/chain.hpp>
