#include "subjects/tensors/tensors.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "subjects/explain.hpp"

namespace attn::app {

namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < 4; ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return names.size() > 4 ? text + " and " + std::to_string(names.size() - 4) + " more" : text;
}

}  // namespace

bool tensors_may_select(const State&, const Selection&) { return true; }

bool tensors_may_pin(const State&, const RunCell& cell) {
    if (cell.second) return false;
    if (cell.stage > Stage::output && !is_of_softmax(cell.stage) && cell.stage != Stage::head_score)
        return false;
    return cell.stage >= Stage::q && cell.row >= 0 && cell.row < position_limit && cell.col >= 0 &&
           cell.col < position_limit;  // there are no projections to show
}

std::string TensorsSubject::wanted() const {
    return open() || now().files.empty() ? "" : listed(now().files);
}

void TensorsSubject::close() {
    ladder_.reset();
    own_.close();
    visit().perform(OpenTensors{});
}

bool TensorsSubject::work(Urgency urgency, double until_ms) {
    if (urgency != Urgency::usual) return false;
    const bool more = own_.work(now().rule, until_ms);
    if (const auto error = own_.take_error()) visit().report_error(*error);
    if (own_.take_asked() && state().subject != tensors_subject)
        visit().perform(OpenSubject{tensors_subject});
    if (own_.take_opened()) {
        const TensorSet& set = *open();
        visit().perform(OpenTensors{names_of(set.files()), set.answers()});
        if (state().subject == tensors_subject) fit_selection();
        visit().announce(set.title() + ": " + set.summary() + ".");
    }
    return more;
}

std::uint64_t TensorsSubject::milestones() const {
    const TensorSet* set = open();
    return set ? 16 * set->serial() + static_cast<std::uint64_t>(set->milestones()) : 0;
}

void TensorsSubject::receive(State& state, const State&, Change how) {
    name_open_files(state, how == Change::replaced);
    const TensorSet* set = open();
    if (!set || how == Change::command || tensors_of(state).answers == set->answers()) return;
    // Older links do not contain answers.
    if (tensors_of(state).answers.empty())
        state.edit<TensorsState>().answers = set->answers();
    else if (!own_.opening())
        own_.open_with(tensors_of(state).answers);
}

// If a link or undo names other files, the open ones are shown.
void TensorsSubject::name_open_files(State& wanted, bool say) const {
    const TensorSet* set = open();
    const std::vector<std::string>& files = tensors_of(wanted).files;
    if (!set || files == names_of(set->files())) return;
    if (say && wanted.subject == tensors_subject && !files.empty())
        visit().notice("This link was made with " + listed(files) + ". Drop " +
                       (files.size() == 1 ? "it" : "them") + " onto the page to see the same.");
    wanted.edit<TensorsState>().files = names_of(set->files());
    wanted.edit<TensorsState>().answers = set->answers();
}

void TensorsSubject::fit_selection() {
    const TensorSet* set = open();
    if (!set) return;
    Selection selection = state().selection;
    selection.layer = std::min(selection.layer, set->layers() - 1);
    selection.head = std::min(selection.head, set->heads() - 1);
    if (selection.query && *selection.query >= set->queries()) selection.query.reset();
    if (selection.key && *selection.key >= set->keys()) selection.key.reset();
    if (state().pin && !has_tokens_of(*set, *state().pin, looks_of(state()).map.spans))
        visit().settle(Pin{std::nullopt});
    if (selection != state().selection) visit().settle(Select{selection});
}

std::optional<Explained> TensorsSubject::explain_at(const CellPlace& place) {
    if (!open()) return std::nullopt;
    if (const MapSum* sum = place.cell.sum()) {
        if (place.head.layer >= open()->layers() || place.head.head >= open()->heads()) return std::nullopt;
        return sums_.of(visit(), *own_.open(), place.head, *sum,
                        [&](const CellPlace& at) { return explain_at(at); });
    }
    const RunCell* cell = place.cell.run();
    if (!cell) return std::nullopt;
    if (cell->mean != HeadMean::one && cell->stage == Stage::weight)
        return explain_mean(*open(), place.head, *cell, [&](const CellPlace& at) { return explain_at(at); });
    return cell->stage == Stage::head_score
               ? scores_.of(*own_.open(), *cell, looks_of(state()).map.spans)
               : explain_tensor_cell(*open(), place.head, *cell, looks_of(state()).map.spans);
}

std::string TensorsSubject::status() { return open() ? open()->summary() : "no tensors"; }

std::vector<Offer> TensorsSubject::offers() const {
    std::vector<Offer> all;
    if (!open() || open()->finished()) return all;
    const TensorRule rule = now().rule;
    const bool causal = rule.causal != TensorRule::Causal::none;
    TensorRule other = rule;
    other.causal = causal ? TensorRule::Causal::none : TensorRule::Causal::aligned;
    all.push_back({causal ? "Tensors: no causal mask" : "Tensors: causal mask", SetTensorRule{other}});
    other = rule;
    other.scale_by_sqrt_d = !rule.scale_by_sqrt_d;
    all.push_back(
        {rule.scale_by_sqrt_d ? "Tensors: no scale" : "Tensors: scale by 1/√d", SetTensorRule{other}});
    return all;
}

Guide TensorsSubject::guide() const {
    return {"Where a number comes from",
            "Hover over a cell: for finished weights you see the number as it is stored, and its place in "
            "the file; for Q and K, the products that it is the sum of, step by step.\n\n"
            "Click to keep it here."};
}

// Returns {"open": {"title", "summary", "files", "remarks", "heads_exact"} or null, "phase" of the opening or
// null, "questions": [{"id", "text", "choices": [[answer, text], …]}], "waiting": names}.
std::string TensorsSubject::probe() const {
    nlohmann::json json{{"open", nullptr}, {"phase", nullptr}, {"questions", nlohmann::json::array()}};
    if (const TensorSet* set = open()) {
        nlohmann::json remarks = nlohmann::json::array();
        for (const TensorSet::Remark& remark : set->remarks()) remarks.push_back(remark.sentence);
        json["open"] = {
            {"title", set->title()},
            {"summary", set->summary()},
            {"files", names_of(set->files())},
            {"remarks", std::move(remarks)},
            {"heads_sampled", set->heads_overview() ? set->heads_overview()->maps().sampled() : 0},
            {"heads_exact", set->heads_overview() ? set->heads_overview()->maps().exact() : 0}};
    }
    if (const TensorOpening* opening = own_.opening()) {
        json["phase"] = static_cast<int>(opening->phase());
        for (const Question& question : opening->questions()) {
            nlohmann::json choices = nlohmann::json::array();
            for (const Choice& choice : question.choices) choices.push_back({choice.answer, choice.text});
            json["questions"].push_back({{"id", question.id}, {"text", question.text}, {"choices", choices}});
        }
    }
    json["waiting"] = names_of(own_.waiting());
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace attn::app
