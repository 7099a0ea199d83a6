#include "subjects/training/training.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "app/link.hpp"
#include "runs/training_files.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

bool training_may_select(const State&, const Selection&) { return true; }

bool training_may_pin(const State&, const RunCell& cell) {
    const bool around = is_of_model(cell.stage) || is_measured(cell.stage);
    const Index limit = around ? position_limit : training_context_limit;
    const auto within = [&](Index i) { return i >= 0 && i < limit; };
    return cell.stage != Stage::probability && (cell.stage >= Stage::q || around) && within(cell.row) &&
           within(cell.col);
}

TrainingSubject::TrainingSubject(Visit& visit) : Subject(visit), runs_(visit.shared<TrainingRuns>()) {}

void TrainingSubject::open_network(const TrainingRun& run, const TrainingView& view) {
    runs_.handover = handover_of(run, view);
    visit().page().open_files(name_of(runs_.handover->network), hub_files(run, view), false);
}

void TrainingSubject::save_network(const TrainingRun& run, const TrainingView& view) {
    State linked = default_state();
    if (!take(linked, OpenSubject{training_subject})) return;
    TrainingState& training = linked.edit<TrainingState>();
    training.plan = run.plan();
    training.step = view.step;
    const Archive archive = hub_archive(run, view, "#" + to_fragment(linked));
    visit().page().download(archive.name + ".zip", archive.bytes);
}

// ---- What it has ------------------------------------------------------------------------------------------

TextRun* TrainingSubject::shown(Shown& place, const TrainingRun* run, const TrainingView* view) {
    if (!run || !view) {
        place = {};
        return nullptr;
    }
    if (place.of != view->probe) {
        place.of = view->probe;
        place.run = std::make_unique<TextRun>(view->probe, run->data().probe_pieces, "",
                                              name_of(TrainedHere{run->plan(), view->step}));
        place.run->of_training = true;
        if (const Status begun = place.run->begin_overview(); !begun) visit().report_error(begun.error());
    }
    return place.run.get();
}

Attention* TrainingSubject::attention() { return shown(shown_, runs_.shown(), runs_.shown_view(now())); }
Attention* TrainingSubject::second() {
    return shown(compared_, runs_.compared(), runs_.compared_view(now()));
}

std::vector<Offer> TrainingSubject::offers() const {
    std::vector<Offer> all;
    for (const TrainingPreset& preset : training_presets())
        all.push_back({"Train: " + std::string(preset.title), SetTrainingPlan{preset.plan}});
    return all;
}

std::optional<Offer> TrainingSubject::offer_second() const {
    if (now().compared || !now().wants_a_run()) return std::nullopt;
    return Offer{"Keep this run for comparison", CompareTraining{now().plan}};
}

// ---- The State --------------------------------------------------------------------------------------------

// If a text was too long for the link but is still here, it is restored, so that back and forward lose
// nothing.
void TrainingSubject::receive(State& state, const State& here, Change how) {
    if (how != Change::replaced || state.shares<TrainingState>(here)) return;
    complete_text(state.edit<TrainingState>().plan, training_of(here).plan);
}

void TrainingSubject::fit_selection() {
    const TrainingPlan& plan = now().plan;
    Selection selection = state().selection;
    selection.layer = std::min(selection.layer, plan.layers - 1);
    selection.head = std::min(selection.head, plan.heads - 1);
    if (selection.query && *selection.query >= plan.context) selection.query.reset();
    if (selection.key && *selection.key >= plan.context) selection.key.reset();
    if (selection != state().selection) visit().settle(Select{selection});
}

std::optional<TextBox> TrainingSubject::text_box() const {
    if (now().plan.task != TrainingTask::own_text || state().subject != training_subject) return std::nullopt;
    return TextBox{now().plan.text, true, false, "Paste a text for the network to learn"};
}

void TrainingSubject::text_typed(Box, const std::string& text) {
    if (text == now().plan.text) return;
    TrainingPlan plan = now().plan;
    plan.text = text;
    plan.changes.clear();
    visit().perform(SetTrainingPlan{plan}, visit().typing());
}

bool TrainingSubject::work(Urgency urgency, double until_ms) {
    if (urgency != Urgency::usual) return false;
    bool more = runs_.work(now(), std::max(until_ms - now_ms(), 0.0));
    if (const auto error = runs_.take_error()) visit().report_error(*error);
    HeadOverview* heads = shown_.run ? shown_.run->overview() : nullptr;
    while (heads && (heads->step_maps() || heads->step_scores())) {
        more = true;
        if (now_ms() >= until_ms) break;
    }
    if (more || !shown_.run) return more;
    if (const auto& model = shown_.run->run->model(); naming_.model() != model) naming_ = HeadNaming(model);
    while (naming_.step())
        if (now_ms() >= until_ms) return true;
    bool worked = false;
    while (shown_.run->step_double()) {
        worked = true;
        if (now_ms() >= until_ms) break;
    }
    return worked;
}

const NamedHeads* TrainingSubject::named_heads() {
    return shown_.run && naming_.model() == shown_.run->run->model() ? naming_.heads() : nullptr;
}

// ---- What it says -----------------------------------------------------------------------------------------

std::vector<std::string> TrainingSubject::token_texts(std::span<const std::int32_t> ids) {
    std::vector<std::string> texts;
    const TrainingRun* run = runs_.shown();
    if (!run) return texts;
    for (const std::int32_t id : ids) texts.push_back(piece_of(run->data(), id));
    return texts;
}

std::optional<Explained> TrainingSubject::explain_at(const CellPlace& place) {
    auto* run = static_cast<TextRun*>(place.cell.second() ? second() : attention());
    const HeadIndex s = place.head;
    if (!run || s.layer >= run->layers() || s.head >= run->heads()) return std::nullopt;
    if (const MapSum* sum = place.cell.sum())
        return sums_.of(visit(), *run, s, *sum, [&](const CellPlace& at) { return explain_at(at); });
    const RunCell* cell = place.cell.run();
    if (!cell) return std::nullopt;
    if (cell->stage == Stage::head_score) return scores_.of(*shown_.run, *cell, looks_of(state()).map.spans);
    if (cell->mean != HeadMean::one && cell->stage == Stage::weight)
        return explain_mean(*run, s, *cell, [&](const CellPlace& at) { return explain_at(at); });
    auto out = explain_run_cell(*run, s, *cell, looks_of(state()).map.spans);
    if (out)
        out->provenance =
            "layer " + std::to_string(s.layer) + ", head " + std::to_string(s.head) + " · " + run->title();
    return out;
}

std::string TrainingSubject::status() {
    const TrainingPlan& plan = now().plan;
    return many(plan.layers, "layer") + " × " + many(plan.heads, "head") + "   d_model " +
           std::to_string(plan.d_model) + "   " + std::to_string(plan.batch) + " × " +
           std::to_string(plan.context) + " tokens a step";
}

Guide TrainingSubject::guide() const {
    return {
        "What to look for",
        "Induction: attention to the symbol that followed the previous copy of the current one. On random "
        "symbols that come twice it needs two heads in two layers: one that copies each symbol to its right "
        "neighbour, and one that looks for that copy.\n\n"
        "Previous token is the share of a head's weights on the token before. Entropy says how spread a "
        "head's weights are: 0 is one key alone.\n\n"
        "You can go back to every step: drag over a curve. From any step the run can branch off with another "
        "learning rate, with other sequences, or with a head left out; keep one run to compare it with "
        "another.\n\n"
        "A link to this page is a link to this run: the same numbers give the same run, to the last bit "
        "where the browser and the number of threads are the same."};
}

// Returns {"taken", "shown", "losses", "heads": [[induction, previous token, entropy], …]} of the shown run,
// with the heads at the newest point; null if there is no run.
std::string TrainingSubject::probe() const {
    const TrainingRun* run = runs_.shown();
    if (!run) return "null";
    nlohmann::json heads = nlohmann::json::array();
    if (!run->points().empty())
        for (const HeadPoint& head : run->points().back().heads)
            heads.push_back({head.induction, head.previous_token, head.entropy});
    const auto losses = run->losses();
    return nlohmann::json{{"taken", run->steps_taken()},
                          {"shown", run->shown_step(now().step.value_or(run->steps_taken()))},
                          {"losses", std::vector<float>(losses.begin(), losses.end())},
                          {"heads", heads}}
        .dump();
}

}  // namespace attn::app
