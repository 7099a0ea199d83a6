#include "analysis/theory/empty_row_example.hpp"

#include <algorithm>

#include "attention/explain.hpp"

namespace attn {

EmptyRowExample empty_row_example(const Record* record, const Mask& mask, Index head, Index query, Index keys,
                                  Index chosen) {
    const auto n = static_cast<std::size_t>(keys);
    EmptyRowExample example{
        .query = query, .scores = std::vector<double>(n), .allowed = std::vector<std::uint8_t>(n)};
    if (record) {
        const RowChain row = row_chain(*record, head, query);
        for (Index key = 0; key < keys; ++key) {
            const CellExplanation cell = row.at(key);
            example.scores[static_cast<std::size_t>(key)] =
                cell.allowed ? cell.masked : cell.capped + cell.bias;
        }
    }
    mask.row(head, query, 0, example.allowed);
    for (std::size_t i = 0; i < example.rows.size(); ++i)
        example.rows[i] = weights_under<double>(static_cast<EmptyRow>(i), example.scores, example.allowed);
    const std::vector<double>& weights = example.rows[static_cast<std::size_t>(EmptyRow::zeros)].weights;
    const auto strongest = std::ranges::max_element(weights);
    const bool sees_some = strongest != weights.end() && *strongest > 0;
    example.wanted = {chosen, sees_some ? strongest - weights.begin() : Index{-1}};
    constexpr Index nearest = 8;
    const auto last = std::find(example.allowed.rbegin(), example.allowed.rend(), 1);
    const Index newest = (example.allowed.rend() - last) - 1;
    for (Index key = newest; key > newest - nearest; --key) example.wanted.push_back(key);
    return example;
}

}  // namespace attn
