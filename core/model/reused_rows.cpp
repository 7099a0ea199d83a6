#include "model/reused_rows.hpp"

#include <algorithm>

namespace attn {

namespace {

bool look_ahead(const std::vector<Intervention>& interventions) {
    return std::ranges::any_of(interventions, may_look_ahead);
}

// How many tokens both begin with that are the same numbers there, as far as the texts go.
Index same_rows(const Trace& run, const Trace& before) {
    if (run.mask() != before.mask()) return 0;
    if (std::ranges::equal(before.ids(), run.ids()) && std::ranges::equal(before.segments(), run.segments()))
        return run.tokens();
    if (run.mask()) return 0;
    const Index same = same_beginning(before, run.ids(), before.encoder().get());
    // A query that was shown a key behind it sees the same one if all of those before are still there.
    const bool sees_others = std::ranges::any_of(run.interventions(), [&](const Intervention& each) {
        return may_look_ahead(each) &&
               (same < before.tokens() || each.edit.columns.back() >= before.tokens());
    });
    return sees_others ? 0 : same;
}

}  // namespace

ReusedRows::ReusedRows(const Trace& run, const Trace* before) {
    const Index layers = std::ssize(run.network().blocks);
    rows_.assign(static_cast<std::size_t>(1 + layers * block_steps), before ? same_rows(run, *before) : 0);
    encoded_.assign(static_cast<std::size_t>(layers),
                    before && before->encoder() ? before->encoder()->tokens() : 0);
    if (!before) return;
    const std::vector<Intervention>&now = run.interventions(), &then = before->interventions();
    const bool causal = run.network().causal && !run.mask() && !look_ahead(now) && !look_ahead(then);
    const std::size_t alike = common(now, then);
    for (const auto* each : {&now, &then})
        for (std::size_t i = alike; i < each->size(); ++i) touch(run, (*each)[i], causal);
}

void ReusedRows::touch(const Trace& run, const Intervention& each, bool causal) {
    const Network& model = run.model()->network();
    const auto [kind, layer] = model.place_of(each.attention);
    if ((kind == AttentionKind::encoder) != (&run.network() != &model)) return;
    const bool cross = kind == AttentionKind::cross, key_site = each.site == Site::k || each.site == Site::v;
    using enum BlockStep;
    const auto first_step = [&]() -> std::size_t {
        switch (each.site) {
            case Site::resid_pre: return cross ? place(layer, leave) : layer == 0 ? 0 : place(layer - 1, mlp);
            case Site::q: return place(layer, of_half(project, cross));
            case Site::k:
            case Site::v: return place(layer, cross ? attend_cross : project);
            case Site::score:
            case Site::mask:
            case Site::weight:
            case Site::head_output: return place(layer, of_half(attend, cross));
            case Site::attention_output: return place(layer, of_half(leave, cross));
            case Site::resid_mid:
                return place(layer, leave_step(run.network().blocks[static_cast<std::size_t>(layer)]));
            case Site::mlp_output:
            case Site::resid_post: break;
        }
        return place(layer, mlp);
    };
    if (cross && key_site) encoded_[static_cast<std::size_t>(layer)] = 0;
    const std::vector<Index>& rows = each.edit.rows;
    Index first = causal && !rows.empty() && !(cross && key_site) ? rows.front() : 0;
    // No query before a key saw it, so none misses it.
    if (causal && !cross && each.site == Site::mask && !each.edit.columns.empty())
        first = std::max(first, each.edit.columns.front());
    for (std::size_t step = first_step(); step < rows_.size(); ++step)
        rows_[step] = std::min(rows_[step], first);
}

}  // namespace attn
