// The Probe: what a browser test may ask of the running page. Nothing here changes anything.
#include <emscripten.h>
#include <imgui.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "app/explained.hpp"
#include "app/url.hpp"
#include "platform/program.hpp"
#include "platform/window.hpp"
#include "widgets/landmarks.hpp"

using namespace attn;
using platform::session;

namespace {

// The caller reads the string before its next question.
const char* answer(const nlohmann::json& json) {
    static std::string kept;
    kept = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return kept.c_str();
}

nlohmann::json finite_or_text(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

// [matrix, row, column, whether it is of the second sentence, whether it is of words]
nlohmann::json of(const app::CellRef& cell) {
    return {static_cast<int>(cell.matrix), cell.row, cell.col, static_cast<int>(cell.second),
            static_cast<int>(cell.words)};
}

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE int probe_frame_count() { return static_cast<int>(platform::frames_drawn()); }

// True while a run, the head maps, a person's own tensors or what the lens shows are being computed, or are still to be
// drawn.
EMSCRIPTEN_KEEPALIVE int probe_busy() {
    return platform::owes_frames() || session().progress().has_value() || session().playing() ||
           session().lens_computes() || session().tensors().busy(session().state().tensors.rule);
}

// {"lens", "fragment", "tokens", "model", "last_edit", "pin", "shown"…}; "shown": the cell that the inspector explains
EMSCRIPTEN_KEEPALIVE const char* probe_state() {
    const app::State& s = session().state();
    nlohmann::json json{{"lens", app::lens_keys[static_cast<std::size_t>(s.lens)]},
                        {"fragment", app::to_fragment(s)},
                        {"text", s.sentence.text},
                        {"model", session().model_name()},
                        {"layer", s.selection.layer},
                        {"head", s.selection.head},
                        {"last_edit", session().last_edit()},
                        {"tokens", session().sentence() ? session().sentence()->trace->tokens() : 0}};
    if (s.selection.query) json["query"] = *s.selection.query;
    if (s.selection.key) json["key"] = *s.selection.key;
    if (s.pin) json["pin"] = of(*s.pin);
    if (const auto cell = platform::explained_cell()) json["shown"] = of(*cell);
    if (session().sentence()) {
        const auto ids = session().sentence()->trace->ids();
        json["ids"] = std::vector<int>(ids.begin(), ids.end());
        json["pieces"] = session().sentence()->pieces;
        json["words"] = session().sentence()->words.names;
    }
    if (session().compared()) json["second_pieces"] = session().compared()->pieces;
    return answer(json);
}

// A ladder matrix by MatrixId, as the run has it in f32: [[…], …].
EMSCRIPTEN_KEEPALIVE const char* probe_matrix(int id) {
    const app::WorkedState& worked = session().state().worked;
    const auto matrix = static_cast<app::MatrixId>(id);
    const app::MatrixShape shape = app::shape_of(worked, matrix);
    nlohmann::json rows = nlohmann::json::array();
    for (Index r = 0; r < shape.rows; ++r) {
        nlohmann::json row = nlohmann::json::array();
        for (Index c = 0; c < shape.cols; ++c)
            row.push_back(
                finite_or_text(static_cast<double>(session().worked().value(worked, {matrix, r, c}))));
        rows.push_back(std::move(row));
    }
    return answer(rows);
}

// Of how many heads of the present sentence there is a first picture, the exact one, and the scores.
EMSCRIPTEN_KEEPALIVE const char* probe_heads() {
    const app::SentenceRun* run = session().sentence();
    if (!run || !run->heads) return answer({0, 0, 0});
    return answer({run->heads->maps().sampled(), run->heads->maps().exact(), run->heads->scored()});
}

// The weights of one head of the present sentence: [[…], …].
EMSCRIPTEN_KEEPALIVE const char* probe_attention(int layer, int head) {
    nlohmann::json rows = nlohmann::json::array();
    const app::SentenceRun* run = session().sentence();
    if (!run || layer >= std::ssize(run->trace->layers())) return answer(rows);
    const Record& record = run->trace->layers()[static_cast<std::size_t>(layer)].attention;
    const Index n = run->trace->tokens();
    std::vector<float> cells(static_cast<std::size_t>(n * n));
    record.stage(Stage::weight, head, {0, n}, {0, n}, cells);
    for (Index r = 0; r < n; ++r)
        rows.push_back(std::vector<float>(cells.begin() + r * n, cells.begin() + (r + 1) * n));
    return answer(rows);
}

// Logits of the last position.
EMSCRIPTEN_KEEPALIVE const char* probe_logits() {
    const app::SentenceRun* run = session().sentence();
    if (!run) return answer(nlohmann::json::array());
    const auto values = run->logits.values();
    return answer(std::vector<float>(values.begin(), values.end()));
}

// The run that lens Training shows: {"taken", "shown", "losses", "heads": [[induction, previous token, entropy], …]} of
// the newest point; null where there is none.
EMSCRIPTEN_KEEPALIVE const char* probe_training() {
    const app::TrainingRun* run = session().training().shown();
    if (!run) return answer(nullptr);
    const auto& step = session().state().training.step;
    const auto losses = run->losses();
    nlohmann::json heads = nlohmann::json::array();
    if (!run->points().empty())
        for (const app::HeadPoint& head : run->points().back().heads)
            heads.push_back({head.induction, head.previous_token, head.entropy});
    return answer({{"taken", run->steps_taken()},
                   {"shown", run->shown_step(step.value_or(run->steps_taken()))},
                   {"losses", std::vector<float>(losses.begin(), losses.end())},
                   {"heads", heads}});
}

// Lens Tensors: {"open": {"title", "summary", "files", "remarks", "heads_exact"} or null, "phase" of what is on its way or
// null, "questions": [{"id", "text", "choices": [[answer, text], …]}], "waiting": names}
EMSCRIPTEN_KEEPALIVE const char* probe_tensors() {
    const app::OwnTensors& tensors = session().tensors();
    nlohmann::json json{{"open", nullptr}, {"phase", nullptr}, {"questions", nlohmann::json::array()}};
    if (const app::TensorSet* set = tensors.open())
        json["open"] = {{"title", set->title()},
                        {"summary", set->summary()},
                        {"files", app::names_of(set->files())},
                        {"remarks", set->remarks()},
                        {"heads_sampled", set->overview() ? set->overview()->maps().sampled() : 0},
                        {"heads_exact", set->overview() ? set->overview()->maps().exact() : 0}};
    if (const app::TensorOpening* opening = tensors.opening()) {
        json["phase"] = static_cast<int>(opening->phase());
        for (const Question& question : opening->questions()) {
            nlohmann::json choices = nlohmann::json::array();
            for (const Choice& choice : question.choices) choices.push_back({choice.answer, choice.text});
            json["questions"].push_back({{"id", question.id}, {"text", question.text}, {"choices", choices}});
        }
    }
    json["waiting"] = app::names_of(tensors.waiting());
    return answer(json);
}

// What the inspector says of a cell.
EMSCRIPTEN_KEEPALIVE const char* probe_explain(int matrix, int row, int col, int second, int words) {
    const auto why =
        app::explain_cell(session(), {static_cast<app::MatrixId>(matrix), row, col, second != 0, words != 0});
    if (!why) return answer(nullptr);
    nlohmann::json operands = nlohmann::json::array();
    for (const auto& o : why->operands) operands.push_back({o.left, o.right, o.product});
    return answer({{"title", why->title},
                   {"provenance", why->provenance},
                   {"f32", finite_or_text(why->f32)},
                   {"f64", finite_or_text(why->f64)},
                   {"formula", why->formula},
                   {"note", why->note},
                   {"operands", operands}});
}

// Where things are on the canvas, in CSS pixels: {"name": [left, top, right, bottom]}.
EMSCRIPTEN_KEEPALIVE const char* probe_landmarks() {
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [name, rect] : ui::landmarks())
        json[name] = {rect.min.x, rect.min.y, rect.max.x, rect.max.y};
    return answer(json);
}

}  // extern "C"
