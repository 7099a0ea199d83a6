#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"

namespace attn::lesson {

namespace {

void write_prose(const std::vector<Block>& blocks, std::string& out) {
    for (const Block& block : blocks) {
        const bool is_formula = block.kind == Block::Kind::formula;
        const std::string_view between = block.text.find('\n') == std::string::npos ? " " : "\n";
        out += '\n';
        if (is_formula) out.append("$$").append(between);
        out += block.text;
        if (is_formula) out.append(between).append("$$");
        out += '\n';
    }
}

void write_fence(std::string_view kind, std::string_view inner, std::string& out) {
    out.append("\n```").append(kind).append("\n").append(inner).append("\n```\n");
}

std::string text_of(const View& view) {
    std::string text = view.link;
    for (std::size_t i = 0; i < view.locks.size(); ++i) text += (i == 0 ? "\nlock: " : ", ") + view.locks[i];
    return text;
}

std::string text_of(const Ask& ask) {
    std::string text = ask.question;
    for (const std::string& choice : ask.choices) text += "\n( ) " + choice;
    if (ask.choices.empty()) text += "\nnumber";
    return text + "\nanswer: " + to_text(ask.answer);
}

void write_step(const Step& step, std::string& out) {
    out += "\n## " + step.title + "\n";
    write_prose(step.prose, out);
    if (step.view) write_fence("view", text_of(*step.view), out);
    std::string checks;
    for (const Check& check : step.checks) {
        checks += (checks.empty() ? "" : "\n") + to_text(check.expression) + " | " + to_text(check.sentence);
        if (!check.seen.parts.empty()) checks += " | " + to_text(check.seen);
    }
    if (!checks.empty()) write_fence("check", checks, out);
    for (const Ask& ask : step.asks) write_fence("ask", text_of(ask), out);
    for (const Hint& hint : step.hints) write_fence("hint", hint.text, out);
    if (step.solution) write_fence("solution", step.solution->link, out);
    for (const Wrong& wrong : step.wrongs)
        write_fence("wrong", wrong.link + "\nfails: " + std::to_string(wrong.fails), out);
}

}  // namespace

std::string write_lesson(const Lesson& lesson) {
    std::string out = "---\ntitle: " + lesson.title + "\nneeds: " + lesson.needs + "\n";
    if (lesson.minutes > 0) out += "minutes: " + std::to_string(lesson.minutes) + "\n";
    out += "language: " + lesson.language + "\n---\n";
    write_prose(lesson.introduction, out);
    for (const Step& step : lesson.steps) write_step(step, out);
    return out;
}

}  // namespace attn::lesson
