#include "analysis/heads/token_directions.hpp"

#include <algorithm>

#include "model/explain.hpp"

namespace attn {

namespace {

constexpr Index numbers_a_step = Index{1} << 17;  // about a millisecond

// Puts a token into its place among the furthest.
void keep(std::vector<TokenAlong>& furthest, TokenAlong token, std::size_t most, auto before) {
    if (furthest.size() == most && !before(token, furthest.back())) return;
    if (furthest.size() == most) furthest.pop_back();
    furthest.insert(std::ranges::upper_bound(furthest, token, before), token);
}

}  // namespace

TokenDirections::TokenDirections(const WeightView& tokens, std::optional<NormView> norm,
                                 std::span<const double> direction, std::size_t most)
    : tokens_(tokens), norm_(norm), most_(most) {
    for (const double each : direction) direction_.push_back(static_cast<float>(each));
}

void TokenDirections::read(Range tokens, std::span<float> rows) const {
    const Index width = tokens_.in;
    if (tokens_.layout == WeightView::Layout::out_in) {
        for (Index token = 0; token < tokens.size(); ++token)
            read_row(tokens_, tokens.begin + token, 0,
                     rows.subspan(static_cast<std::size_t>(token * width), static_cast<std::size_t>(width)));
    } else {
        for (Index token = 0; token < tokens.size(); ++token)
            for (Index b = 0; b < width; ++b)
                rows[static_cast<std::size_t>(token * width + b)] =
                    static_cast<float>(element(tokens_, b, tokens.begin + token));
    }
    if (!norm_) return;
    const std::vector<float> plain(rows.begin(), rows.end());
    const ConstMatrix from{plain.data(), tokens.size(), width, width};
    const MatrixView<float> to{rows.data(), tokens.size(), width, width};
    if (norm_->kind == NormView::Kind::layer)
        default_kernels().layer_norm(from, norm_->gain, norm_->bias, static_cast<float>(norm_->epsilon), to);
    else
        default_kernels().rms_norm(from, norm_->gain, static_cast<float>(norm_->epsilon), to);
}

std::vector<float> TokenDirections::row(std::int32_t id) const {
    std::vector<float> row(static_cast<std::size_t>(tokens_.in));
    read({id, id + 1}, row);
    return row;
}

bool TokenDirections::step() {
    const Index width = std::max<Index>(tokens_.in, 1);
    const Range part{next_, std::min(next_ + std::max<Index>(numbers_a_step / width, 1), tokens_.out)};
    std::vector<float> rows(static_cast<std::size_t>(part.size() * tokens_.in));
    read(part, rows);
    for (Index token = part.begin; token < part.end; ++token) {
        const float* row = rows.data() + (token - part.begin) * tokens_.in;
        float along = 0;
        for (std::size_t b = 0; b < direction_.size(); ++b) along += row[b] * direction_[b];
        const TokenAlong one{static_cast<std::int32_t>(token), along};
        keep(highest_, one, most_, [](const auto& a, const auto& b) { return a.along > b.along; });
        keep(lowest_, one, most_, [](const auto& a, const auto& b) { return a.along < b.along; });
    }
    next_ = part.end;
    return !done();
}

}  // namespace attn
