#include "learn/printed.hpp"

#include <string_view>

#include "learn/wording.hpp"
#include "lesson/prose.hpp"
#include "widgets/svg_writer.hpp"

namespace attn::app::learn {

namespace {

constexpr std::string_view style =
    "body{font:11pt/1.45 Inter,Helvetica,sans-serif;max-width:17cm;margin:1.5cm auto;color:#111}"
    "h1{font-size:20pt;margin:0 0 .2em}h2{font-size:13pt;margin:1.4em 0 .3em;break-after:avoid}"
    ".box{border:1px solid #999;border-radius:4px;padding:.4em .8em;margin:.6em 0;break-inside:avoid}"
    ".line{border-bottom:1px solid #999;height:1.8em}code,.f{font-family:monospace}small{color:#555}"
    ".live{background:#eee;border-radius:2px;padding:0 .2em}";

std::string in_html(const std::vector<lesson::FormulaPiece>& formula) {
    std::string out = "<span class=f>";
    for (const lesson::FormulaPiece& piece : formula) {
        const std::string_view tag = piece.raised == 0 ? "" : piece.raised < 0 ? "sub" : "sup";
        out += tag.empty() ? ui::markup_escaped(piece.text)
                           : "<" + std::string(tag) + ">" + ui::markup_escaped(piece.text) + "</" +
                                 std::string(tag) + ">";
    }
    return out + "</span>";
}

// A number of the page is a blank to fill in.
std::string in_html(const lesson::Sentence& sentence) {
    std::string out;
    for (const lesson::Part& part : sentence.parts) {
        out += ui::markup_escaped(part.text);
        if (!part.expression.nodes.empty())
            out += "<span class=live>" + ui::markup_escaped(in_words(part.expression)) + "</span>";
    }
    return out;
}

std::string paragraph(const std::string& text) {
    using Kind = lesson::Inline::Kind;
    const auto prose = lesson::parse_prose(text);
    if (!prose) return ui::markup_escaped(text);
    std::string out;
    for (const lesson::Inline& piece : *prose) {
        switch (piece.kind) {
            case Kind::words: out += in_html(piece.sentence); break;
            case Kind::strong: out += "<strong>" + in_html(piece.sentence) + "</strong>"; break;
            case Kind::emphasis: out += "<em>" + in_html(piece.sentence) + "</em>"; break;
            case Kind::code: out += "<code>" + ui::markup_escaped(piece.code) + "</code>"; break;
            case Kind::formula: out += in_html(piece.formula); break;
        }
    }
    return out;
}

std::string blocks(const std::vector<lesson::Block>& all) {
    std::string out;
    for (const lesson::Block& block : all)
        out += "<p>" +
               (block.kind == lesson::Block::Kind::formula ? in_html(lesson::formula_pieces(block.text))
                                                           : paragraph(block.text)) +
               "</p>\n";
    return out;
}

std::string step_in_html(const lesson::Step& step, std::size_t number) {
    std::string out = "<h2>" + std::to_string(number) + ". " + ui::markup_escaped(step.title) + "</h2>\n" +
                      blocks(step.prose);
    if (!step.checks.empty()) {
        out += "<div class=box><small>To be reached</small>";
        for (const lesson::Check& check : step.checks)
            out += "<br>☐ <code>" + ui::markup_escaped(lesson::to_text(check.expression)) + "</code>";
        out += "</div>\n";
    }
    for (const lesson::Ask& ask : step.asks) {
        out += "<div class=box>" + paragraph(ask.question);
        for (const std::string& choice : ask.choices) out += "<br>☐ " + ui::markup_escaped(choice);
        if (ask.choices.empty()) out += "<div class=line></div>";
        out += "</div>\n";
    }
    return out;
}

}  // namespace

std::string printed(const lesson::Lesson& lesson) {
    std::string out = "<!doctype html>\n<html lang=\"" + ui::markup_escaped(lesson.language) +
                      "\"><meta charset=\"utf-8\"><title>" + ui::markup_escaped(lesson.title) +
                      "</title><style>" + std::string(style) + "</style>\n<h1>" +
                      ui::markup_escaped(lesson.title) + "</h1>\n";
    if (lesson.minutes > 0) out += "<small>" + std::to_string(lesson.minutes) + " minutes</small>\n";
    out += blocks(lesson.introduction);
    for (std::size_t i = 0; i < lesson.steps.size(); ++i) out += step_in_html(lesson.steps[i], i + 1);
    return out + "</html>\n";
}

}  // namespace attn::app::learn
