#include "analysis/check/hypotheses.hpp"

#include <utility>

namespace attn {

Hypotheses::Hypotheses(const AttentionCase& given, const Implementation& right) : right_(right) {
    for (const Mistake& mistake : mistakes())
        for (MistakeVariant& variant : mistake.variants(given))
            variants_.push_back({&mistake, std::move(variant)});
}

std::vector<Hypothesis> Hypotheses::single() const {
    std::vector<Hypothesis> all;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
        Implementation how = right_;
        variants_[i].variant.apply(how);
        all.push_back({std::move(how), {i}});
    }
    return all;
}

std::vector<Hypothesis> Hypotheses::pairs() const {
    const std::vector<Hypothesis> alone = single();
    std::vector<Hypothesis> all;
    for (std::size_t i = 0; i < variants_.size(); ++i)
        for (std::size_t j = i + 1; j < variants_.size(); ++j) {
            if (variants_[i].mistake == variants_[j].mistake) continue;
            Implementation how = alone[i].how, turned = alone[j].how;
            // A rotation that is not there has no base to change.
            if (!how.inputs.rope != !turned.inputs.rope && (how.inputs.rope || right_.inputs.rope)) continue;
            if (!how.window != !turned.window) continue;
            variants_[j].variant.apply(how);
            variants_[i].variant.apply(turned);
            if (how == alone[i].how || how == alone[j].how || how != turned) continue;
            all.push_back({std::move(how), {i, j}});
        }
    return all;
}

}  // namespace attn
