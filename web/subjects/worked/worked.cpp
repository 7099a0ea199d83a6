#include "subjects/worked/worked.hpp"

#include <nlohmann/json.hpp>

#include "app/format.hpp"
#include "maps/merged.hpp"
#include "subjects/worked/commands.hpp"
#include "subjects/worked/presets.hpp"

namespace attn::app {

namespace {

// Presents the example as a single head, for maps and flows.
class WorkedAttention final : public Attention {
  public:
    WorkedAttention(WorkedState state, const std::shared_ptr<const WorkedRun>& run)
        : state_(std::move(state)),
          record_(run, &run->record),
          query_text_(state_.query_labels, {}, one_line() ? 0 : 1),
          key_text_(state_.key_labels),
          version_(new_version()) {}

    std::uint64_t version() const override { return version_; }
    Index layers() const override { return 1; }
    Index heads() const override { return 1; }
    Index queries() const override { return state_.queries(); }
    Index keys() const override { return state_.keys(); }
    const std::vector<std::string>& query_names() const override { return state_.query_labels; }
    const std::vector<std::string>& key_names() const override { return state_.key_labels; }
    bool one_line() const override { return state_.query_labels == state_.key_labels; }
    const TextUnits& query_text() const override { return query_text_; }
    const TextUnits& key_text() const override { return key_text_; }
    std::vector<Stage> stages() const override {
        std::vector<Stage> stages;
        // In the record, given scores are a bias, so it does not know the earlier stages.
        const bool given = state_.source == Source::scores;
        if (!given) stages.insert(stages.end(), {Stage::raw, Stage::scaled});
        if (!given && state_.softcap > 0) stages.push_back(Stage::capped);
        if (given) stages.push_back(Stage::masked);
        stages.push_back(Stage::weight);
        if (state_.d_v() > 0) stages.push_back(Stage::contribution);
        return stages;
    }
    Stage stage_for(Stage chosen) const override {
        const std::vector<Stage> all = stages();
        if (std::ranges::find(all, chosen) != all.end()) return chosen;
        return is_signed(chosen) ? all.front() : Stage::weight;
    }
    HeadMaps maps(const MapChoice& choice) const override {
        return [record = record_, stage = stage_for(choice.stage), sink = choice.sink,
                groups = merged(choice)](Index, Index) {
            const auto of_stage = [&](Stage wanted) {
                MapPointer map = stage_map(record, 0, wanted);
                return groups ? merged_map(std::move(map), groups->queries, groups->keys) : map;
            };
            return with_sink(of_stage(stage), of_stage(Stage::weight), is_signed(stage) ? Sink::shown : sink);
        };
    }
    std::shared_ptr<const Record> record(Index) const override { return record_; }
    const char* measured_on() const override { return "on this example"; }
    std::string title() const override { return "example " + std::string(info(state_.preset).letter); }
    std::map<std::string, std::string> source() const override {
        return {{"example", std::string(info(state_.preset).key)}};
    }

  private:
    WorkedState state_;
    std::shared_ptr<const Record> record_;
    TextUnits query_text_, key_text_;
    std::uint64_t version_;
};

bool same_shapes(const WorkedState& a, const WorkedState& b) {
    return a.source == b.source && a.queries() == b.queries() && a.keys() == b.keys() && a.d_k() == b.d_k() &&
           a.d_v() == b.d_v() && a.x.cols == b.x.cols && a.preset == b.preset;
}

std::shared_ptr<const WorkedRun> run_of(const WorkedState& state, Visit& visit) {
    auto run = run_worked(state);
    if (run) return std::make_shared<const WorkedRun>(*std::move(run));
    // Commands keep the shapes consistent, so this would be a bug worth reporting.
    visit.report_error(run.error());
    return nullptr;
}

}  // namespace

bool worked_may_select(const State& state, const Selection& s) {
    const WorkedState& w = worked_of(state);
    return (!s.query || *s.query < w.queries()) && (!s.key || *s.key < w.keys());
}

bool worked_may_pin(const State& state, const RunCell& cell) {
    const WorkedState& worked = worked_of(state);
    if (cell.mean != HeadMean::one) return false;
    if (cell.unit == Unit::words &&
        !(word_axis(worked.query_labels).merges() || word_axis(worked.key_labels).merges()))
        return false;
    if (cell.second && !same_shapes(origin_state(worked), worked)) return false;
    const MatrixShape shape = shape_of(worked, cell.stage);
    return cell.row >= 0 && cell.row < shape.rows && cell.col >= 0 && cell.col < shape.cols;
}

WorkedSubject::WorkedSubject(Visit& visit) : Subject(visit) { rerun(); }
WorkedSubject::~WorkedSubject() = default;

void WorkedSubject::follow(const State&, Change) { rerun(); }

void WorkedSubject::rerun() {
    const WorkedState& earlier = visit().state_before().of<WorkedState>();
    if (run_ && run_for_ == now() && before_for_ == earlier) return;
    if (!run_ || run_for_ != now()) {
        const auto run = run_of(now(), visit());
        if (!run) return;
        run_ = run;
        run_for_ = now();
        attention_ = std::make_unique<WorkedAttention>(run_for_, run_);
    }
    if (!before_ || before_for_ != earlier) {
        before_for_ = earlier;
        before_ = run_of(earlier, visit());
    }
    ladder_.emplace(run_for_, *run_, before_for_, run_before());
}

const WorkedRun* WorkedSubject::run_before() const {
    return before_ && same_shapes(run_for_, before_for_) ? before_.get() : nullptr;
}

Attention* WorkedSubject::attention() { return attention_.get(); }

// Returns the example as it was opened, if it still has the same shape.
Attention* WorkedSubject::second() {
    const WorkedState original = origin_state(now());
    if (!same_shapes(original, now()) || !check_inputs(original)) return nullptr;
    if (!original_ || original_for_ != original) {
        original_for_ = original;
        const auto run = run_of(original, visit());
        original_run_ = run;
        original_ = run ? std::make_unique<WorkedAttention>(original, run) : nullptr;
    }
    return original_.get();
}

std::vector<Offer> WorkedSubject::offers() const {
    std::vector<Offer> all;
    for (const PresetInfo& preset : presets())
        all.push_back({"Example " + std::string(preset.letter) + ": " + std::string(preset.title),
                       OpenPreset{preset.id}});
    all.push_back({"Causal mask", SetMask{.kind = WorkedMask::Kind::causal}});
    all.push_back({"No mask", SetMask{.kind = WorkedMask::Kind::none}});
    all.push_back({"Paint the mask", SetMask{.kind = WorkedMask::Kind::painted}});
    if (now().source != Source::scores)
        all.push_back({now().scale_by_sqrt_d ? "Without the scale 1/√d_k" : "Scale by 1/√d_k",
                       SetScaling{!now().scale_by_sqrt_d}});
    return all;
}

Command WorkedSubject::take_over(const HeadCopy& head) const { return TakeHead{head}; }

std::optional<Explained> WorkedSubject::explain_at(const CellPlace& place) {
    if (const MapSum* sum = place.cell.sum()) {
        Attention* shown = sum->second ? second() : attention();
        const auto cell_at = [&](const CellPlace& at) { return explain_at(at); };
        return shown ? sums_.of(visit(), *shown, place.head, *sum, cell_at) : std::nullopt;
    }
    const RunCell* cell = place.cell.run();
    if (!cell) return std::nullopt;
    if (cell->unit != Unit::tokens)
        return explain_worked_units(now(), *run_, *attention_, *cell, looks_of(state()).map.spans);
    if (!cell->second) return explain_worked_cell(now(), *run_, *cell);
    return second() ? explain_worked_cell(original_for_, *original_run_, *cell) : std::nullopt;
}

std::string WorkedSubject::status() {
    const WorkedState& w = now();
    std::string text = "n_q " + std::to_string(w.queries()) + "   n_k " + std::to_string(w.keys());
    if (w.d_k()) text += "   d_k " + std::to_string(w.d_k());
    if (w.d_v()) text += "   d_v " + std::to_string(w.d_v());
    return text + "   f32";
}

Guide WorkedSubject::guide() const { return numbers_guide; }

std::optional<Command> WorkedSubject::paste(const Matrix& cells) const {
    const RunCell* at = state().pin ? state().pin->run() : nullptr;
    return at ? std::optional<Command>(PasteCells{*at, cells}) : std::nullopt;
}

// Returns {"x": [[…], …], …}: every matrix of the ladder in f32.
std::string WorkedSubject::probe() const {
    nlohmann::json all = nlohmann::json::object();
    const auto finite_or_text = [](double value) -> nlohmann::json {
        if (std::isfinite(value)) return value;
        return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    };
    for (int i = 0; i < stage_count; ++i) {
        const auto stage = static_cast<Stage>(i);
        const MatrixShape shape = shape_of(now(), stage);
        nlohmann::json rows = nlohmann::json::array();
        for (Index r = 0; r < shape.rows; ++r) {
            nlohmann::json row = nlohmann::json::array();
            for (Index c = 0; c < shape.cols; ++c)
                row.push_back(finite_or_text(static_cast<double>(run_->value(now(), {stage, r, c}))));
            rows.push_back(std::move(row));
        }
        all[std::string(info(stage).key)] = std::move(rows);
    }
    return all.dump();
}

}  // namespace attn::app
