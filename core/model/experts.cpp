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
    // All experts share the memory of the one that takes most.
    Index most = 0;
    for (const auto& tokens : taken) most = std::max(most, std::ssize(tokens));
    Tensor all_x({most, normalised.cols}), all_units({most, d_ff}), all_y({most, output.cols});
    for (std::size_t expert = 0; expert < taken.size(); ++expert) {
        const std::vector<Taken>& tokens = taken[expert];
        if (tokens.empty()) continue;
        const Mlp& mlp = experts.all[expert];
        const Range used{0, std::ssize(tokens)};
        const MatrixView<float> x = rows(all_x.matrix(), used), units = rows(all_units.matrix(), used),
                                y = rows(all_y.matrix(), used);
        for (Index i = 0; i < used.end; ++i)
            std::copy_n(normalised.row(tokens[static_cast<std::size_t>(i)].row), normalised.cols, x.row(i));
        mlp_hidden(kernels, mlp, activation, x, units);
        apply(kernels, mlp.down, units, y);
        for (Index i = 0; i < used.end; ++i) {
            const auto [row, slot] = tokens[static_cast<std::size_t>(i)];
            std::copy_n(units.row(i), d_ff, hidden.row(row) + slot * d_ff);
            const float weight = of.weights(row, slot);
            float* const to = output.row(row);
            const float* const from = y.row(i);
            for (Index column = 0; column < output.cols; ++column) to[column] += weight * from[column];
        }
    }
}

}  // namespace attn
