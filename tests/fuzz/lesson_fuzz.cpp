// Reads any bytes as a lesson. One that is accepted is written and must read the same; whatever the page
// would show of it is prepared and computed, with numbers, texts and errors that follow from the names.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/target.hpp"
#include "lesson/lesson.hpp"
#include "lesson/prose.hpp"
#include "lesson/validate.hpp"
#include "text/utf8.hpp"

using namespace attn;
using namespace attn::lesson;

namespace {

// FNV-1a.
std::uint32_t hash(std::string_view text, std::uint32_t seed) {
    std::uint32_t value = 2166136261u ^ seed;
    for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 16777619u;
    return value;
}

std::uint32_t hash_of(const Value& value, std::uint32_t seed) {
    if (const std::string* text = std::get_if<std::string>(&value)) return hash(*text, seed);
    if (const double* number = std::get_if<double>(&value)) return hash(std::to_string(*number), seed);
    return hash(*std::get_if<bool>(&value) ? "true" : "false", seed);
}

Result<Value> drawn(std::string_view name, std::span<const Value> arguments) {
    std::uint32_t bits = hash(name, 0);
    for (const Value& each : arguments) bits = hash_of(each, bits);
    switch (bits >> 8 & 15) {
        case 0: return Error{"There is none."};
        case 1: return Value(bits % 2 == 0);
        case 2: return Value(std::string(name));
        case 3: return Value(std::string("cat"));
        case 4: return Value(std::numeric_limits<double>::quiet_NaN());
        case 5: return Value(std::numeric_limits<double>::infinity());
        case 6: return Value(-1e308);
        case 7: return Value(0.0);
        default: return Value(static_cast<double>(bits % 4000) / 1000 - 1);
    }
}

void require_sentence(const Error& error) { require(!error.message.empty() && is_utf8(error.message)); }

void check_number(const Expression& expression) {
    if (const auto outcome = evaluate(expression, drawn); !outcome) require_sentence(outcome.error());
    const auto again = parse_expression(to_text(expression));
    require(again && *again == expression);
}

void check_sentence(const Sentence& sentence) {
    for (const Part& part : sentence.parts)
        if (!part.expression.nodes.empty()) check_number(part.expression);
    if (const auto text = filled(sentence, drawn))
        require(is_utf8(*text));
    else
        require_sentence(text.error());
}

void check_formula(std::string_view tex) {
    for (const FormulaPiece& piece : formula_pieces(tex))
        require(!piece.text.empty() && is_utf8(piece.text) && piece.raised >= -1 && piece.raised <= 2);
}

void check_prose(std::string_view text) {
    const auto prose = parse_prose(text);
    if (!prose) return require_sentence(prose.error());
    for (const Inline& each : *prose) {
        check_sentence(each.sentence);
        require(is_utf8(each.code));
        for (const FormulaPiece& piece : each.formula) require(is_utf8(piece.text));
    }
}

void check_blocks(const std::vector<lesson::Block>& blocks) {
    for (const lesson::Block& block : blocks)
        block.kind == lesson::Block::Kind::formula ? check_formula(block.text) : check_prose(block.text);
}

void check_step(const Step& step) {
    check_blocks(step.prose);
    for (const Check& check : step.checks) {
        check_number(check.expression);
        check_sentence(check.sentence);
        check_sentence(check.seen);
    }
    for (const Ask& ask : step.asks) {
        check_prose(ask.question);
        check_number(ask.answer.expression);
        if (const auto right = right_choice(ask, drawn))
            require(*right < ask.choices.size());
        else
            require_sentence(right.error());
        if (const auto right = is_right(ask, 0.25, drawn); !right) require_sentence(right.error());
    }
    for (const Hint& hint : step.hints) check_prose(hint.text);
}

}  // namespace

FUZZ_TARGET(lesson) {
    const auto lesson = parse_lesson(std::as_bytes(std::span(data, size)));
    if (!lesson) {
        const std::string& message = lesson.error().message;
        require(message.starts_with("line ") && message.size() < 400 && is_utf8(message));
        return 0;
    }
    require(!lesson->title.empty() && !lesson->steps.empty() && lesson->steps.size() <= most_steps);
    const std::string text = write_lesson(*lesson);
    const auto again = parse_lesson(std::as_bytes(std::span(text)));
    require(again && *again == *lesson);
    require(write_lesson(*again) == text);

    for (const Finding& finding : validate(*lesson, {})) require(is_utf8(finding.sentence));
    check_blocks(lesson->introduction);
    for (const Step& step : lesson->steps) check_step(step);
    return 0;
}
