// One request a line, one answer a line.
#include <iostream>

#include "contestant.hpp"

int main() {
    for (std::string line; std::getline(std::cin, line);) std::cout << attn::bench::answer(line) << std::endl;
}
