// Answers what a browser test asks about the running page. Nothing here changes anything.
#include <emscripten.h>
#include <imgui.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "app/copied.hpp"
#include "app/link.hpp"
#include "platform/program.hpp"
#include "platform/window.hpp"
#include "widgets/landmarks.hpp"

using namespace attn;
using platform::visit;

namespace {

// The caller reads the string before its next question.
const char* answer_text(std::string text) {
    static std::string kept;
    kept = std::move(text);
    return kept.c_str();
}
const char* answer(const nlohmann::json& json) {
    return answer_text(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::json finite_or_text(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

// Returns [stage, row, column, in the second sentence, unit], or [its name in links] for a sum or a
// lens's number.
nlohmann::json of(const app::CellRef& cell) {
    const app::RunCell* run = cell.run();
    if (!run) return {app::write_cell(cell)};
    return {info(run->stage).key, run->row, run->col, static_cast<int>(run->second),
            static_cast<int>(run->unit)};
}

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE int probe_frame_count() { return static_cast<int>(platform::frames_drawn()); }

// Returns true while something is being computed or still has to be drawn.
EMSCRIPTEN_KEEPALIVE int probe_busy() {
    return platform::owes_frames() || visit().busy() || visit().frame_computes();
}

// Returns true once the landmarks reflect the last event.
EMSCRIPTEN_KEEPALIVE int probe_answered() { return platform::has_answered(); }

// Returns {"subject", "lens", "fragment", "layer", "head", "last_edit", "pin", "shown", "spoken"…}; "shown"
// is the cell that the inspector explains.
EMSCRIPTEN_KEEPALIVE const char* probe_state() {
    const app::State& s = visit().state();
    nlohmann::json json{
        {"subject", s.subject},       {"lens", s.lens},           {"fragment", app::to_fragment(s)},
        {"layer", s.selection.layer}, {"head", s.selection.head}, {"last_edit", visit().last_edit()}};
    json["spoken"] = platform::frame().spoken();
    if (s.selection.query) json["query"] = *s.selection.query;
    if (s.selection.key) json["key"] = *s.selection.key;
    if (s.pin) json["pin"] = of(*s.pin);
    if (const auto cell = platform::frame().explained_cell()) json["shown"] = of(*cell);
    return answer(json);
}

// Draws for a test that has kept the page from drawing on the canvas.
EMSCRIPTEN_KEEPALIVE void probe_draw_again() { platform::draw_again(); }

// Returns what the subject with that key reports; its source defines the format.
EMSCRIPTEN_KEEPALIVE const char* probe_subject(const char* key) {
    return answer_text(visit().subject(key).probe());
}

// Returns a subject's logits for the next token.
EMSCRIPTEN_KEEPALIVE const char* probe_logits(const char* key) {
    return answer_text(visit().subject(key).probe_logits());
}

// Returns the weights of one head of the open subject: [[…], …].
EMSCRIPTEN_KEEPALIVE const char* probe_attention(int layer, int head) {
    nlohmann::json rows = nlohmann::json::array();
    app::Attention* attention = app::subject_in(visit()).attention();
    if (!attention || layer >= attention->layers() || head >= attention->heads()) return answer(rows);
    const MapPointer map = attention->maps({})(layer, head);
    const std::vector<float> cells = cells_of(*map);
    for (Index r = 0; r < map->queries(); ++r) {
        nlohmann::json row = nlohmann::json::array();
        for (Index c = 0; c < map->keys(); ++c) {
            const float cell = cells[static_cast<std::size_t>(r * map->keys() + c)];
            row.push_back(cell == masked_cell ? 0.0f : cell);
        }
        rows.push_back(std::move(row));
    }
    return answer(rows);
}

// Returns the inspector's text about a cell, named as in links.
EMSCRIPTEN_KEEPALIVE const char* probe_explain(const char* name) {
    const app::State& state = visit().state();
    const auto cell = app::read_cell(name, state);
    if (!cell) return answer(nullptr);
    const app::Selection& s = state.selection;
    const auto why = app::lens_in(visit()).explain(app::subject_in(visit()), {{s.layer, s.head}, *cell});
    if (!why) return answer(nullptr);
    nlohmann::json operands = nlohmann::json::array();
    for (const auto& o : why->operands) operands.push_back({o.left, o.right, o.product});
    nlohmann::json copies = nlohmann::json::array();
    for (const auto dialect : {app::Dialect::latex, app::Dialect::numpy, app::Dialect::cpp})
        copies.push_back(app::copied(*why, dialect));
    return answer({{"title", why->title},
                   {"provenance", why->provenance},
                   {"f32", finite_or_text(why->f32)},
                   {"f64", finite_or_text(why->f64)},
                   {"formula", why->formula},
                   {"note", why->note},
                   {"copies", copies},
                   {"operands", operands}});
}

// Returns where things are on the canvas, in CSS pixels: {"name": [left, top, right, bottom]}.
EMSCRIPTEN_KEEPALIVE const char* probe_landmarks() {
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [name, rect] : ui::landmarks())
        json[name] = {rect.min.x, rect.min.y, rect.max.x, rect.max.y};
    return answer(json);
}

}  // extern "C"
