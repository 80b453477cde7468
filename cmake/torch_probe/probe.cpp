#include <cstdio>

#include <torch/version.h>

int main() {
  std::puts(TORCH_VERSION);
}
