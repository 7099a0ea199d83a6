// Reads one request per line and answers with one line.
#include <iostream>

#include "contestant.hpp"

int main() {
    for (std::string line; std::getline(std::cin, line);) std::cout << attn::bench::answer(line) << std::endl;
}
