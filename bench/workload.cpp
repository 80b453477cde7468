#include <penstock/bench/workload.hpp>
