// Ends the explanation of a number with the result of interventions.
#include <algorithm>

#include "subjects/explain.hpp"

namespace attn::app {

namespace {

struct ChangedSite {
    Index attention;
    Site site;
};

// Returns the sites that a stage of an attention corresponds to, in order. The chain explains scores, masks
// and weights.
std::vector<ChangedSite> sites_of(const Trace& run, Index attention, Stage stage) {
    const AttentionPlace place = run.attention(attention).place;
    const Index blocks = std::ssize(run.attention(attention).queries.layers());
    switch (stage) {
        case Stage::resid_pre:
            if (place.layer == 0 || place.kind == AttentionKind::cross) return {{attention, Site::resid_pre}};
            return {{attention - 1, Site::resid_post}, {attention, Site::resid_pre}};
        case Stage::q: return {{attention, Site::q}};
        case Stage::k: return {{attention, Site::k}};
        case Stage::v: return {{attention, Site::v}};
        case Stage::output: return {{attention, Site::head_output}};
        case Stage::attention_output: return {{attention, Site::attention_output}};
        case Stage::resid_mid: return {{attention, Site::resid_mid}};
        case Stage::mlp_output: return {{attention, Site::mlp_output}};
        case Stage::final_residual: return {{attention - place.layer + blocks - 1, Site::resid_post}};
        default: return {};
    }
}

// Describes what was changed in a cell of a head, or in its row.
void note_cell_changes(Explained& out, const Trace& run, HeadIndex at, const RunCell& cell) {
    std::string told;
    for (const Intervention& each : run.interventions()) {
        const std::vector<Index>& columns = each.edit.columns;
        if (each.attention != at.layer || !is_of_cells(each.site) || !each.edit.touches(at.head, cell.row) ||
            (!columns.empty() && !std::ranges::binary_search(columns, cell.col)))
            continue;
        told += (told.empty() ? "Changed here: " : "; ") + std::string(info(each.site).name) + " " +
                operation_text(each);
    }
    if (!told.empty()) out.note = told + "." + (out.note.empty() ? "" : " " + out.note);
}

}  // namespace

void add_changes(Explained& out, const Trace& run, HeadIndex at, const RunCell& cell) {
    if (run.interventions().empty()) return;
    if (is_of_pairs(cell.stage)) return note_cell_changes(out, run, at, cell);
    const bool of_keys = cell.stage == Stage::k || cell.stage == Stage::v;
    for (const auto& [attention, site] : sites_of(run, at.layer, cell.stage)) {
        const Index head = !is_of_heads(site) ? 0
                           : of_keys          ? run.attention(attention).record().kv_head(at.head)
                                              : at.head;
        for (const ChangedBy& change :
             explain_changes(run, attention, site, head, cell.row, cell.col, out.f64)) {
            const Operation operation = change.intervention->edit.operation;
            const Expression before = out.calculation.empty() ? out.f64 : out.calculation.result();
            const Expression after = operation == Operation::scale && out.f64 != 0
                                         ? before * (change.value / out.f64)
                                     : operation == Operation::add ? before + (change.value - out.f64)
                                                                   : change.value;
            for (Explained::Step& step : out.steps) step.current = false;
            out.steps.push_back({"changed",
                                 "from " + four(out.f64) + ": " + operation_text(*change.intervention),
                                 four(change.value), true});
            out.f64 = change.value;
            out.line("changed" + std::to_string(out.calculation.lines().size()), after);
        }
    }
}

}  // namespace attn::app
