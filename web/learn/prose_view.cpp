#include "learn/prose_view.hpp"

#include <imgui.h>

#include <algorithm>
#include <vector>

#include "widgets/semantics.hpp"
#include "widgets/theme.hpp"

namespace attn::app::learn {

namespace {

constexpr float index_size = 0.72f, line_gap = 4;
// How far a piece is below the line, in letters: an index, an exponent, an index in an exponent.
constexpr float index_drop = 0.34f, exponent_drop = -0.1f, nested_drop = 0.12f;

// A stretch of text in one style.
struct Run {
    std::string text;
    ui::Face face = ui::Face::regular;
    ImU32 ink = 0;
    int raised = 0;
    bool boxed = false;  // on a soft ground, as code is
};

void add_sentence(std::vector<Run>& runs, const lesson::Sentence& sentence, ui::Face face, ImU32 ink,
                  const NumberText& number) {
    for (const lesson::Part& part : sentence.parts) {
        if (!part.text.empty()) runs.push_back({part.text, face, ink});
        if (!part.expression.nodes.empty())
            runs.push_back({number(part), ui::Face::semibold, ui::theme().text});
    }
}

void add_formula(std::vector<Run>& runs, std::span<const lesson::FormulaPiece> formula) {
    for (const lesson::FormulaPiece& piece : formula)
        runs.push_back({piece.text, ui::Face::mono, ui::theme().text, piece.raised});
}

std::vector<Run> runs_of(std::span<const lesson::Inline> prose, const NumberText& number) {
    using Kind = lesson::Inline::Kind;
    std::vector<Run> runs;
    const ui::Theme& t = ui::theme();
    for (const lesson::Inline& piece : prose) {
        switch (piece.kind) {
            case Kind::words: add_sentence(runs, piece.sentence, ui::Face::regular, t.text, number); break;
            case Kind::strong: add_sentence(runs, piece.sentence, ui::Face::semibold, t.text, number); break;
            case Kind::emphasis:
                add_sentence(runs, piece.sentence, ui::Face::regular, t.accent, number);
                break;
            case Kind::code: runs.push_back({piece.code, ui::Face::mono, t.text, 0, true}); break;
            case Kind::formula: add_formula(runs, piece.formula); break;
        }
    }
    return runs;
}

// Lays runs out in lines. What is not separated by a blank stays on one line.
class Flow {
  public:
    Flow(ImVec2 at, float width, float size) : at_(at), width_(width), size_(size) {
        const ui::Type type(ui::Face::regular, size_);
        line_height_ = ImGui::GetTextLineHeight() + line_gap;
    }

    void add(const Run& run) {
        std::string_view text = run.text;
        while (!text.empty()) {
            // A number and its per cent stay together.
            const bool is_break = (text.front() == ' ' && !text.starts_with(" %")) || text.front() == '\n';
            if (is_break) {
                end_word();
                pending_blank_ = true;
                text.remove_prefix(1);
                continue;
            }
            std::size_t end = std::min(text.find_first_of(" \n", 1), text.size());
            if (text.substr(end).starts_with(" %"))
                end = std::min(text.find_first_of(" \n", end + 1), text.size());
            word_.push_back({std::string(text.substr(0, end)), run.face, run.ink, run.raised, run.boxed});
            text.remove_prefix(end);
        }
    }
    float finish() {
        end_word();
        return y_ + line_height_;
    }

  private:
    float size_of(const Run& run) const {
        return run.raised != 0 ? size_ * index_size : run.face == ui::Face::mono ? size_ - 1 : size_;
    }
    void end_word() {
        if (word_.empty()) return;
        float width = 0;
        std::vector<float> widths;
        for (const Run& run : word_) {
            const ui::Type type(run.face, size_of(run));
            widths.push_back(ui::text_size(run.text).x);
            width += widths.back();
        }
        float blank = 0;
        if (pending_blank_ && x_ > 0) {
            const ui::Type type(ui::Face::regular, size_);
            blank = std::floor(0.27f * size_);
        }
        if (x_ > 0 && x_ + blank + width > width_) {
            x_ = blank = 0;
            y_ += line_height_;
        }
        x_ += blank;
        ImDrawList* list = ImGui::GetWindowDrawList();
        for (std::size_t i = 0; i < word_.size(); ++i) {
            const Run& run = word_[i];
            const ui::Type type(run.face, size_of(run));
            const float shift = run.raised < 0               ? size_ * index_drop
                                : run.raised == 1            ? size_ * exponent_drop
                                : run.raised > 1             ? size_ * nested_drop
                                : run.face == ui::Face::mono ? 1
                                                             : 0;
            const ImVec2 corner{at_.x + x_, at_.y + y_ + shift};
            if (run.boxed)
                list->AddRectFilled({corner.x - 2, corner.y},
                                    {corner.x + widths[i] + 2, corner.y + size_ + 3}, ui::theme().raised, 3);
            ui::draw_text(list, corner, run.ink, run.text);
            x_ += widths[i];
        }
        word_.clear();
        pending_blank_ = false;
    }

    ImVec2 at_;
    float width_, size_, line_height_ = 0, x_ = 0, y_ = 0;
    std::vector<Run> word_;
    bool pending_blank_ = false;
};

void draw_runs(const std::vector<Run>& runs, const std::string& told) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    Flow flow(at, width, ImGui::GetFontSize());
    for (const Run& run : runs) flow.add(run);
    ImGui::Dummy({width, flow.finish() - line_gap});
    ui::semantic_text(ui::Role::paragraph, told);
}

}  // namespace

void draw_prose(std::span<const lesson::Inline> prose, const NumberText& number) {
    draw_runs(runs_of(prose, number), plain_text(prose, number));
}

void draw_formula(std::span<const lesson::FormulaPiece> formula) {
    std::vector<Run> runs;
    add_formula(runs, formula);
    std::string told;
    for (const lesson::FormulaPiece& piece : formula) told += piece.text;
    ImGui::Indent(10);
    draw_runs(runs, told);
    ImGui::Unindent(10);
}

std::string plain_text(std::span<const lesson::Inline> prose, const NumberText& number) {
    std::string text;
    for (const lesson::Inline& piece : prose) {
        text += piece.code;
        for (const lesson::FormulaPiece& each : piece.formula) text += each.text;
        for (const lesson::Part& part : piece.sentence.parts) {
            text += part.text;
            if (!part.expression.nodes.empty()) text += number(part);
        }
    }
    std::ranges::replace(text, '\n', ' ');
    return text;
}

}  // namespace attn::app::learn
