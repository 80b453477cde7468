#include <penstock/loader/stats.hpp>
