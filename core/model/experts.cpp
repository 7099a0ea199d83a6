#include "model/experts.hpp"

#include <algorithm>
#include <vector>

#include "model/block.hpp"

namespace attn {

void choose_experts(const Kernels& kernels, const Experts& experts, ConstMatrix normalised,
                    const ExpertRows& out) {
    Tensor scores({normalised.rows, experts.router.weight.out});
    apply(kernels, experts.router, normalised, scores.matrix());
    for (Index row = 0; row < normalised.rows; ++row) {
        const float* score = scores.matrix().row(row);
        std::vector<bool> chosen(experts.all.size());
        for (Index i = 0; i < experts.per_token; ++i) {
            std::size_t best = static_cast<std::size_t>(std::ranges::find(chosen, false) - chosen.begin());
            for (std::size_t expert = best + 1; expert < chosen.size(); ++expert)
                if (!chosen[expert] && score[expert] > score[best]) best = expert;
            chosen[best] = true;
        }
        Index slot = 0;
        for (std::size_t expert = 0; expert < chosen.size(); ++expert) {
            if (!chosen[expert]) continue;
            out.chosen(row, slot) = static_cast<float>(expert);
            out.weights(row, slot++) = score[expert];
        }
    }
    kernels.softmax(out.weights);
}

namespace {

// The tokens of an expert, and which of theirs it is.
struct Taken {
    Index row, slot;
};

}  // namespace

void run_experts(const Kernels& kernels, const Experts& experts, Activation activation,
                 ConstMatrix normalised, const ExpertRows& of, MatrixView<float> hidden,
                 MatrixView<float> output) {
    const Index d_ff = hidden.cols / experts.per_token;
    for (Index row = 0; row < output.rows; ++row) std::fill_n(output.row(row), output.cols, 0.0f);
    std::vector<std::vector<Taken>> taken(experts.all.size());
    for (Index row = 0; row < normalised.rows; ++row)
        for (Index slot = 0; slot < experts.per_token; ++slot)
            taken[static_cast<std::size_t>(of.chosen(row, slot))].push_back({row, slot});
    for (std::size_t expert = 0; expert < taken.size(); ++expert) {
        const std::vector<Taken>& tokens = taken[expert];
        if (tokens.empty()) continue;
        const Mlp& mlp = experts.all[expert];
        Tensor x({std::ssize(tokens), normalised.cols}), units({x.dim(0), d_ff}), y({x.dim(0), output.cols});
        for (Index i = 0; i < x.dim(0); ++i)
            std::copy_n(normalised.row(tokens[static_cast<std::size_t>(i)].row), normalised.cols,
                        x.matrix().row(i));
        mlp_hidden(kernels, mlp, activation, x.matrix(), units.matrix());
        apply(kernels, mlp.down, units.matrix(), y.matrix());
        for (Index i = 0; i < x.dim(0); ++i) {
            const auto [row, slot] = tokens[static_cast<std::size_t>(i)];
            std::copy_n(units.matrix().row(i), d_ff, hidden.row(row) + slot * d_ff);
            const float weight = of.weights(row, slot);
            for (Index column = 0; column < output.cols; ++column)
                output(row, column) += weight * y.matrix()(i, column);
        }
    }
}

}  // namespace attn
