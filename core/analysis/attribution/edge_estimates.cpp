#include "analysis/attribution/edge_estimates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace attn {

namespace {

constexpr std::size_t most_strongest = 100;
constexpr float score_of_hidden = -std::numeric_limits<float>::infinity();

bool stronger(const EdgeEstimates::Edge& a, const EdgeEstimates::Edge& b) {
    return std::tuple(-std::abs(a.effect), a.query, a.key) < std::tuple(-std::abs(b.effect), b.query, b.key);
}

}  // namespace

Result<EdgeEstimates> EdgeEstimates::start(std::shared_ptr<const Trace> trace, const LogitLoss& target,
                                           const HeadIndex& head, double slice_operations) {
    if (head.layer < 0 || head.layer >= trace->attentions() || head.head < 0 ||
        head.head >= trace->attention(head.layer).record().heads())
        return Error{"There is no head " + std::to_string(head.head) + " in attention " +
                     std::to_string(head.layer) + "."};
    for (const Intervention& each : trace->interventions()) {
        const bool shared =
            each.site == Site::weight || (each.site == Site::score && each.edit.operation == Operation::mean);
        if (shared && each.attention == head.layer && each.edit.head.value_or(head.head) == head.head)
            return Error{
                "The weights of this head do not follow from its scores one by one, because they were "
                "changed "
                "behind the softmax or by a mean; its edges can be cut, but not estimated."};
    }
    auto gradient = LogitGradient::start(std::move(trace), target, slice_operations);
    if (!gradient) return gradient.error();
    return EdgeEstimates(*std::move(gradient), head);
}

std::vector<EdgeTerms> EdgeEstimates::row(Index query) const {
    const LayerAttention at = gradient_.trace().attention(head_.layer);
    const Record& record = at.record();
    const Index keys = record.keys();
    const float* slopes = gradient_.heads_before(head_.layer)->heads().head(head_.head).row(query);
    const ConstMatrix v = record.v().heads().head(record.kv_head(head_.head));
    const std::vector<float> weights = record.weights(head_.head, query);
    std::vector<float> scores(weights.size());
    record.stage(Stage::masked, head_.head, {query, query + 1}, {0, keys}, scores);

    std::vector<EdgeTerms> terms(weights.size());
    double all = 0, together = 0;
    for (std::size_t key = 0; key < terms.size(); ++key) {
        EdgeTerms& each = terms[key];
        each.seen = scores[key] != score_of_hidden;
        if (!each.seen) continue;
        each.weight = static_cast<double>(weights[key]);
        const float* value = v.row(static_cast<Index>(key));
        for (Index b = 0; b < v.cols; ++b)
            each.worth += static_cast<double>(slopes[b]) * static_cast<double>(value[b]);
        all += each.weight;
        together += each.weight * each.worth;
    }
    for (std::size_t key = 0; key < terms.size(); ++key) {
        EdgeTerms& each = terms[key];
        if (!each.seen) continue;
        double left = all - each.weight, rest = together - each.weight * each.worth;
        // Beside a key that has nearly all of the weight, the others' may be lost in that difference, or be 0
        // in f32.
        if (each.weight > 0.5) {
            double most = -std::numeric_limits<double>::infinity();
            for (std::size_t other = 0; other < terms.size(); ++other)
                if (other != key && terms[other].seen)
                    most = std::max(most, static_cast<double>(scores[other]));
            left = rest = 0;
            for (std::size_t other = 0; other < terms.size(); ++other) {
                if (other == key || !terms[other].seen) continue;
                const double share = std::exp(static_cast<double>(scores[other]) - most);
                left += share;
                rest += share * terms[other].worth;
            }
        }
        // A query that sees nothing else gives 0.
        each.others = left > 0 ? rest / left : 0;
    }
    return terms;
}

void EdgeEstimates::keep(const Edge& edge) {
    // A heap whose first is the weakest.
    if (strongest_.size() == most_strongest) {
        if (!stronger(edge, strongest_.front())) return;
        std::ranges::pop_heap(strongest_, stronger);
        strongest_.pop_back();
    }
    strongest_.push_back(edge);
    std::ranges::push_heap(strongest_, stronger);
}

bool EdgeEstimates::step() {
    if (done()) return false;
    if (!at_head()) {
        gradient_.step(head_.layer);
        return true;
    }
    const std::vector<EdgeTerms> terms = row(next_);
    for (std::size_t key = 0; key < terms.size(); ++key)
        if (const double effect = terms[key].effect(); terms[key].seen && std::isfinite(effect))
            keep({next_, static_cast<Index>(key), effect});
    if (++next_ < record().queries()) return true;
    std::ranges::sort_heap(strongest_, stronger);
    return false;
}

float EdgeEstimates::progress() const {
    const Index attentions = gradient_.trace().attentions();
    Index passed = 0;
    for (Index number = head_.layer; number < attentions; ++number)
        passed += gradient_.heads(number) != nullptr;
    const float back =
                    at_head() ? 1 : static_cast<float>(passed) / static_cast<float>(attentions - head_.layer),
                rows = static_cast<float>(next_) / static_cast<float>(std::max<Index>(record().queries(), 1));
    return (back + rows) / 2;
}

}  // namespace attn
