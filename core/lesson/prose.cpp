#include "lesson/prose.hpp"

#include <algorithm>
#include <utility>

#include "lesson/tokens.hpp"
#include "text/utf8.hpp"

namespace attn::lesson {

namespace {

struct Symbol {
    std::string_view command, written;
};
constexpr Symbol symbols[] = {
    {"alpha", "α"},
    {"beta", "β"},
    {"gamma", "γ"},
    {"delta", "δ"},
    {"epsilon", "ε"},
    {"eta", "η"},
    {"theta", "θ"},
    {"kappa", "κ"},
    {"lambda", "λ"},
    {"mu", "μ"},
    {"nu", "ν"},
    {"pi", "π"},
    {"rho", "ρ"},
    {"sigma", "σ"},
    {"tau", "τ"},
    {"phi", "φ"},
    {"chi", "χ"},
    {"psi", "ψ"},
    {"omega", "ω"},
    {"Delta", "Δ"},
    {"Sigma", "Σ"},
    {"Omega", "Ω"},
    {"sum", "Σ"},
    {"prod", "Π"},
    {"cdot", " · "},
    {"times", " × "},
    {"approx", " ≈ "},
    {"le", " ≤ "},
    {"leq", " ≤ "},
    {"ge", " ≥ "},
    {"geq", " ≥ "},
    {"ne", " ≠ "},
    {"neq", " ≠ "},
    {"top", "⊤"},
    {"infty", "∞"},
    {"partial", "∂"},
    {"nabla", "∇"},
    {"in", " ∈ "},
    {"to", " → "},
    {"pm", " ± "},
    {"ldots", "…"},
    {"dots", "…"},
    {"cdots", "⋯"},
    {"lVert", "‖"},
    {"rVert", "‖"},
    {"Vert", "‖"},
    {"|", "‖"},
    {"ln", "ln "},
    {"log", "log "},
    {"exp", "exp"},
    {"max", "max"},
    {"min", "min"},
    {"softmax", "softmax"},
    {"quad", "  "},
    {"qquad", "   "},
    {",", " "},
    {";", " "},
    {" ", " "},
    {"!", ""},
    {"left", ""},
    {"right", ""},
    {"%", "%"},
    {"{", "{"},
    {"}", "}"},
    {"_", "_"},
};
constexpr std::string_view upright[] = {"text", "mathrm", "operatorname", "mathbf", "mathit"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class FormulaWriter {
  public:
    explicit FormulaWriter(std::string_view tex) : tex_(tex) {}

    std::vector<FormulaPiece> run() {
        while (!tex_.empty()) next(0);
        return std::move(pieces_);
    }

  private:
    void add(std::string_view text, int raised) {
        if (text.empty()) return;
        // Two blanks in a row are one.
        if (text.front() == ' ' && !pieces_.empty() && pieces_.back().text.ends_with(' '))
            text.remove_prefix(1);
        if (!pieces_.empty() && pieces_.back().raised == raised)
            pieces_.back().text += text;
        else if (!text.empty())
            pieces_.push_back({std::string(text), raised});
    }
    char take() {
        const char c = tex_.front();
        tex_.remove_prefix(1);
        return c;
    }

    // Takes the group in braces that comes next, or else one command or character.
    std::string_view argument() {
        while (tex_.starts_with(' ')) take();
        if (tex_.empty()) return {};
        if (tex_.front() != '{') {
            std::size_t size = 1;
            if (tex_.front() == '\\') {
                while (size < tex_.size() && is_letter(tex_[size])) ++size;
                if (size == 1) size += first_code_points(tex_.substr(1), 1).size();
            } else {
                size = first_code_points(tex_, 1).size();
            }
            const std::string_view taken = tex_.substr(0, size);
            tex_.remove_prefix(size);
            return taken;
        }
        std::size_t depth = 0, at = 0;
        do {
            if (tex_[at] == '\\' && at + 1 < tex_.size())
                ++at;
            else if (tex_[at] == '{')
                ++depth;
            else if (tex_[at] == '}')
                --depth;
            ++at;
        } while (depth > 0 && at < tex_.size());
        const std::string_view inside = tex_.substr(1, at - 1 - (depth == 0 ? 1 : 0));
        tex_.remove_prefix(at);
        return inside;
    }
    // Writes a group within the formula. The depth of groups is bounded by their length.
    void write(std::string_view inside, int raised) {
        if (++depth_ <= most_nesting) {
            const std::string_view rest = std::exchange(tex_, inside);
            while (!tex_.empty()) next(raised);
            tex_ = rest;
        } else {
            add(inside, raised);
        }
        --depth_;
    }
    void enclosed(std::string_view inside, int raised) {
        const bool simple =
            inside.find_first_of(" +-*/=") == inside.npos && inside.find("\\cdot") == inside.npos;
        if (!simple) add("(", raised);
        write(inside, raised);
        if (!simple) add(")", raised);
    }

    void next(int raised) {
        const char c = take();
        if (c == '\\') return command(raised);
        if (c == '_' || c == '^') return write(argument(), raised == 1 ? 2 : c == '^' ? 1 : -1);
        if (c == '{' || c == '}') return;
        if (c == '-') return add("−", raised);
        if (c == '=' || c == '+' || c == '<' || c == '>') {
            add(" ", raised);
            add(std::string_view(&c, 1), raised);
            return add(" ", raised);
        }
        if (c == '\n') return add(" ", raised);
        add(std::string_view(&c, 1), raised);
    }

    void command(int raised) {
        std::size_t size = 0;
        while (size < tex_.size() && is_letter(tex_[size])) ++size;
        if (size == 0) size = first_code_points(tex_, 1).size();
        const std::string_view name = tex_.substr(0, size);
        tex_.remove_prefix(size);
        if (is_letter(name.empty() ? ' ' : name[0]) && tex_.starts_with(' ')) take();
        if (name == "frac" || name == "tfrac" || name == "dfrac") {
            const std::string_view above = argument(), below = argument();
            enclosed(above, raised);
            add(" / ", raised);
            return enclosed(below, raised);
        }
        if (name == "sqrt") {
            add("√", raised);
            return enclosed(argument(), raised);
        }
        if (std::ranges::find(upright, name) != std::end(upright)) return add(argument(), raised);
        const auto found = std::ranges::find(symbols, name, &Symbol::command);
        if (found != std::end(symbols)) return add(found->written, raised);
        add("\\" + std::string(name), raised);
    }

    std::string_view tex_;
    std::vector<FormulaPiece> pieces_;
    std::size_t depth_ = 0;
};

// Finds where a mark ends what it began, or npos. Marks within numbers in braces do not count.
std::size_t find_end(std::string_view text, std::string_view mark) {
    bool in_braces = false;
    for (std::size_t i = 0; i + mark.size() <= text.size(); ++i) {
        if (text[i] == '{') in_braces = true;
        if (text[i] == '}') in_braces = false;
        if (text[i] == '\\')
            ++i;
        else if (!in_braces && text.substr(i).starts_with(mark))
            return i;
    }
    return text.npos;
}

struct Marked {
    std::string_view mark;
    Inline::Kind kind;
};
// The longer of two that begin alike comes first.
constexpr Marked all_marks[] = {{"**", Inline::Kind::strong},
                                {"*", Inline::Kind::emphasis},
                                {"`", Inline::Kind::code},
                                {"$", Inline::Kind::formula}};

}  // namespace

std::vector<FormulaPiece> formula_pieces(std::string_view tex) { return FormulaWriter(tex).run(); }

Result<std::vector<Inline>> parse_prose(std::string_view text) {
    std::vector<Inline> found;
    std::string words;
    std::size_t column = 1, words_column = 1;
    const auto take = [&](std::size_t bytes) {
        const std::string_view taken = text.substr(0, bytes);
        text.remove_prefix(bytes);
        column += static_cast<std::size_t>(count_code_points(taken));
        return taken;
    };
    const auto add = [&](Inline::Kind kind, std::string_view of, std::size_t at) -> Status {
        Inline piece{.kind = kind};
        if (kind == Inline::Kind::code) {
            piece.code = of;
        } else if (kind == Inline::Kind::formula) {
            piece.formula = formula_pieces(of);
        } else {
            auto sentence = parse_sentence(of, at);
            if (!sentence) return sentence.error();
            piece.sentence = *std::move(sentence);
        }
        found.push_back(std::move(piece));
        return ok();
    };
    const auto end_words = [&]() -> Status {
        return words.empty() ? ok() : add(Inline::Kind::words, std::exchange(words, {}), words_column);
    };
    while (!text.empty()) {
        if (words.empty()) words_column = column;
        if (text[0] == '\\' && text.size() > 1 &&
            std::string_view("\\*`$").find(text[1]) != std::string_view::npos) {
            take(1);
            words += take(1);
            continue;
        }
        if (text[0] == '{') {
            const std::size_t end = text.starts_with("{{") ? 1 : find_outside_texts(text, "}");
            words += take(end == text.npos ? text.size() : end + 1);
            continue;
        }
        const auto mark =
            std::ranges::find_if(all_marks, [&](const Marked& each) { return text.starts_with(each.mark); });
        const std::string_view rest = mark == std::end(all_marks) ? "" : text.substr(mark->mark.size());
        const std::size_t end = rest.empty() || rest[0] == ' ' ? text.npos : find_end(rest, mark->mark);
        if (end == text.npos || end == 0) {
            words += take(first_code_points(text, 1).size());
            continue;
        }
        if (const Status ended = end_words(); !ended) return ended.error();
        take(mark->mark.size());
        const std::size_t begin = column;
        const std::string_view inside = take(end);
        if (const Status added = add(mark->kind, inside, begin); !added) return added.error();
        take(mark->mark.size());
    }
    if (const Status ended = end_words(); !ended) return ended.error();
    return found;
}

}  // namespace attn::lesson
