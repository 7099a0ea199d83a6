// Prints the causal attention weights of three tokens.
#include <attn/attention/record.hpp>
#include <cstdio>
#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

int main() {
    const attn::Tensor x({1, outside_tensor, 2}, {1, 0, 0, 1, 1, 1});  // heads, tokens, components
    attn::AttentionSpec spec;
    spec.mask = attn::Mask::causal();
    const auto record = attn::Record::run(x, x, x, std::move(spec));
    if (!record) {
        std::fprintf(stderr, "%s\n", record.error().message.c_str());
        return 1;
    }
    for (attn::Index query = 0; query < record->queries(); ++query) {
        for (const float weight : record->weights(0, query)) std::printf("%.3f ", weight);
        std::printf("\n");
    }
}
