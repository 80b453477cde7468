#include <penstock/penstock.hpp>

int main() {}
