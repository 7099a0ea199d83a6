#include "widgets/inspector.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "app/format.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/page_field.hpp"

namespace attn::ui {

namespace {

// Further operands are summed up in one line.
constexpr std::ptrdiff_t most_operands = 16;

void line(Face face, float size, ImU32 colour, const std::string& text) {
    Type type(face, size);
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    wrapped_text(text);
    ImGui::PopStyleColor();
}

// Makes this part of the panel a link to another number, which the keyboard can reach, too.
void link(const std::string& name, const std::string& text, ImVec2 min, ImVec2 max,
          const std::optional<app::CellPlace>& to, const PlaceTold& told, InspectorReply& reply) {
    if (!to || max.x - min.x < 1) return;
    const ImVec2 cursor = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos(min);
    if (ImGui::InvisibleButton(name.c_str(), {max.x - min.x, max.y - min.y}, ImGuiButtonFlags_EnableNav) &&
        !dragged())
        reply.followed = to;
    const bool hovered = ImGui::IsItemHovered();
    if (hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    ImGui::GetWindowDrawList()->AddLine({min.x, max.y - 1}, {max.x, max.y - 1},
                                        hovered ? theme().accent : with_alpha(theme().accent, 0.35f));
    landmark_item("inspector/" + name);
    semantic_item(Role::button, "inspector/" + name, told(*to) + ": " + text);
    ImGui::SetCursorScreenPos(cursor);
}

// A count has no decimals.
bool counts(double value, const std::string& unit) {
    return !unit.empty() && value >= 0 && value < 1e15 && value == std::floor(value);
}
std::string written(double value, int decimals, const std::string& unit) {
    return (counts(value, unit) ? app::with_commas(static_cast<std::int64_t>(value))
                                : app::fixed(value, decimals)) +
           (unit.empty() ? "" : " " + unit);
}

void value(const app::Explained& why) {
    line(Face::mono, 28, theme().accent, written(why.f32, 6, why.unit));
    landmark_item("inspector/f32");
    const auto told = [](const std::string& text) { line(Face::mono, size_small, theme().dim, text); };
    const auto off_by = [&](double exact, const char* where) {
        const double off = std::abs(why.f32 - exact);
        if (std::isfinite(off) && off > 0) told("f32 is off by " + app::significant(off, 2) + where);
    };
    if (why.in_double) {
        told("f64  " + written(*why.in_double, 12, why.unit) + ", the whole run in double");
        landmark_item("inspector/whole");
        off_by(*why.in_double, "");
    } else if (why.in_double_progress) {
        told("The run is repeated in double, " + app::percent(static_cast<double>(*why.in_double_progress)));
    }
    if (!why.recomputed) return;
    constexpr int digits_of_f32 = 8;
    const std::string f64 = counts(why.f64, why.unit) ? written(why.f64, 0, why.unit)
                                                      : app::significant(why.f64, digits_of_f32) +
                                                            (why.unit.empty() ? "" : " " + why.unit);
    told("f64  " + (why.f64_is.empty() ? written(why.f64, 12, why.unit) : f64 + ", " + why.f64_is));
    landmark_item("inspector/f64");
    if (!why.in_double) off_by(why.f64, why.f64_is.empty() ? "" : " in this step");
}

// Writes the numbers of a column alike: without decimals if all of them are whole.
class Column {
  public:
    Column(int decimals, auto&& numbers) : decimals_(decimals) {
        bool whole = true;
        for (const double number : numbers) whole = whole && (!std::isfinite(number) || is_count(number));
        if (whole) decimals_ = 0;
        for (const double number : numbers) width_ = std::max(width_, text_size(text(number)).x);
    }
    std::string text(double number) const { return app::fixed(number, decimals_); }
    float width() const { return width_; }

  private:
    // Larger numbers have an exponent.
    static bool is_count(double number) { return number == std::floor(number) && std::abs(number) < 1e6; }

    int decimals_;
    float width_ = 0;
};

// Columns of the operands: names, factors with the sign between them, bars and products. If there is too
// little room, the bars shrink, then the names, and then the numbers lose decimals.
struct Columns {
    Column left, right, product;
    float start, sign, bar_left, bar_right, width;

    static constexpr float gap = 6, least_bar = 16;

    Columns(const app::Explained& why, const OperandsShown& of, float room, float names, int fewer)
        : left(3 - fewer, numbers(why, of, &app::Explained::Operand::left)),
          right(3 - fewer, numbers(why, of, &app::Explained::Operand::right)),
          product(4 - fewer, products(why, of)),
          start(names),
          sign(text_size(why.sign).x + text_size("0").x),
          bar_left(start + left.width() + sign + right.width() + gap),
          bar_right(room - product.width() - gap),
          width(room) {}
    bool fit() const { return bar_left <= bar_right + gap; }
    float left_end() const { return start + left.width(); }
    float right_end() const { return left_end() + sign + right.width(); }
    bool has_bars() const { return bar_right - bar_left > least_bar; }

  private:
    static std::vector<double> numbers(const app::Explained& why, const OperandsShown& of, auto member) {
        std::vector<double> all;
        for (const std::size_t i : of.which) all.push_back(why.operands[i].*member);
        return all;
    }
    static std::vector<double> products(const app::Explained& why, const OperandsShown& of) {
        std::vector<double> all = numbers(why, of, &app::Explained::Operand::product);
        all.push_back(of.sum);
        return all;
    }
};

Columns columns_of(const app::Explained& why, const OperandsShown& of, float room, float names) {
    constexpr int most_fewer = 3;
    const float fewest_names = std::min(names, text_size("0").x * 6);
    Columns columns(why, of, room, names, 0);
    for (int fewer = 0; fewer <= most_fewer && !columns.fit(); ++fewer)
        columns = Columns(why, of, room, fewest_names, fewer);
    return columns;
}

void operands(const app::Explained& why, const OperandsShown& of, const PlaceTold& told,
              InspectorReply& reply) {
    if (why.operands.empty()) return;
    ImGui::Dummy({0, 6});
    line(Face::semibold, size_body, theme().text, why.operands_title);
    const bool multiplied = std::string_view(why.sign) == "×";
    const double largest = of.largest;

    Type mono(Face::mono, size_small);
    ImDrawList* list = ImGui::GetWindowDrawList();
    constexpr float finger = 9;
    const float width = ImGui::GetContentRegionAvail().x, text_height = ImGui::GetTextLineHeight(),
                height = text_height + 5 + (by_touch() ? finger : 0);
    const float digit = text_size("0").x;
    float name_width = digit * 6;
    bool named = false;
    for (const std::size_t i : of.which) {
        const std::string& name = why.operands[i].name;
        name_width = std::max(name_width, text_size(name).x + 6);
        named = named || (!name.empty() && !std::isdigit(name[0]));
    }
    name_width = std::min(name_width, digit * 11);
    const Columns columns = columns_of(why, of, width, named ? name_width : 0);
    const float bar_left = columns.bar_left, bar_right = columns.bar_right;
    const auto right_aligned = [&](float x, float y, ImU32 colour, const std::string& text) {
        draw_text(list, {x - text_size(text).x, y}, colour, text);
    };
    for (std::size_t i = 0; i < of.which.size(); ++i) {
        const auto& o = why.operands[of.which[i]];
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const std::string left = columns.left.text(o.left), right = columns.right.text(o.right),
                          product = columns.product.text(o.product);
        const float left_end = at.x + columns.left_end(), right_end = at.x + columns.right_end();
        if (named) draw_text_within(list, at, columns.start - 6, theme().dim, o.name);
        right_aligned(left_end, at.y, theme().text, left);
        draw_text(list, {left_end + digit / 2, at.y}, theme().dim, why.sign);
        right_aligned(right_end, at.y, theme().text, right);
        if (columns.has_bars() && largest > 0 && std::isfinite(o.product)) {
            const float middle = (bar_left + bar_right) / 2;
            const float zero = of.negative ? middle : bar_left;
            const float reach = of.negative ? (bar_right - bar_left) / 2 : bar_right - bar_left;
            const float length = reach * static_cast<float>(o.product / largest);
            list->AddRectFilled({at.x + std::min(zero, zero + length), at.y + 2},
                                {at.x + std::max(zero, zero + length) + 1, at.y + text_height},
                                diverging(static_cast<float>(o.product / largest)), 2);
        }
        right_aligned(at.x + width, at.y, theme().text, product);
        const std::string row = "operand/" + std::to_string(i);
        const auto number = [&](const char* side, float end, const std::string& text,
                                const std::optional<app::CellPlace>& to) {
            link(row + side, text, {end - text_size(text).x, at.y}, {end, at.y + text_height + 1}, to, told,
                 reply);
        };
        number("/left", left_end, left, o.left_at);
        number("/right", right_end, right, o.right_at);
        number("/product", at.x + width, product, o.product_at);
        ImGui::Dummy({width, height - ImGui::GetStyle().ItemSpacing.y});
        landmark("inspector/" + row + "/numbers", {at.x + columns.start, at.y}, {right_end, at.y + height});
        landmark("inspector/" + row + "/result", {at.x + width - text_size(product).x, at.y},
                 {at.x + width, at.y + height});
        semantic_text(Role::paragraph, o.name + " " + left + " " + why.sign + " " + right +
                                           (multiplied ? " = " : ": ") + product);
    }
    const ImVec2 at = ImGui::GetCursorScreenPos();
    list->AddLine({at.x, at.y}, {at.x + width, at.y}, theme().border);
    const std::size_t left_out = why.operands.size() - of.which.size();
    const std::string what = left_out ? "sum, with " + std::to_string(left_out) + " smaller terms" : "sum";
    draw_text(list, {at.x, at.y + 5}, theme().dim, what);
    right_aligned(at.x + width, at.y + 5, theme().text, columns.product.text(of.sum));
    ImGui::Dummy({width, height + 4});
    semantic_text(Role::paragraph, what + " " + columns.product.text(of.sum));
}

// Draws a step: its name, its arithmetic and its value on one line. A long name, and an arithmetic that does
// not fit between the two, have lines of their own.
void step_line(const app::Explained::Step& step, const std::string& key, const PlaceTold& told,
               InspectorReply& reply) {
    constexpr float names = 92, gap = 8;
    const auto text_within = [](Face face, const std::string& text, float most) {
        const Type type(face, size_small);
        const std::string lines = wrapped(text, most);
        return std::pair(lines, text_size(lines));
    };
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const auto [name, name_size] = text_within(Face::regular, step.name, width);
    const ImVec2 value_size = text_within(Face::mono, step.value, width).second;
    auto [arithmetic, size] = text_within(Face::mono, step.arithmetic, FLT_MAX);
    const bool fits = size.x <= width - names - value_size.x - gap;
    if (!fits) std::tie(arithmetic, size) = text_within(Face::mono, step.arithmetic, width - names);
    const float below = name_size.x > names - gap ? name_size.y + 2 : 0,
                value_y = below + (fits ? 0 : size.y + 2), height = value_y + value_size.y + 6;

    ImDrawList* list = ImGui::GetWindowDrawList();
    if (step.current)
        list->AddRectFilled({at.x - 6, at.y - 2}, {at.x + width + 6, at.y + height - 3}, theme().accent_soft,
                            4);
    {
        const Type regular(Face::regular, size_small);
        draw_text(list, at, step.current ? theme().text : theme().dim, name);
    }
    const Type mono(Face::mono, size_small);
    draw_text(list, {at.x + names, at.y + below}, theme().dim, arithmetic);
    const ImVec2 value_at{at.x + width - value_size.x, at.y + value_y};
    draw_text(list, value_at, theme().text, step.value);
    link(key, step.value, value_at, {at.x + width, value_at.y + value_size.y + 1}, step.at, told, reply);
    ImGui::Dummy({width, height - ImGui::GetStyle().ItemSpacing.y});
    semantic_text(Role::paragraph, std::string(step.name) + " " + step.arithmetic + " " + step.value);
}

void steps(const app::Explained& why, const PlaceTold& told, InspectorReply& reply) {
    if (why.steps.empty()) return;
    ImGui::Dummy({0, 4});
    line(Face::semibold, size_body, theme().text, "Step by step");
    for (std::size_t i = 0; i < why.steps.size(); ++i)
        step_line(why.steps[i], "step/" + std::to_string(i), told, reply);
}

void note(const app::Explained& why) {
    if (why.note.empty()) return;
    ImGui::Dummy({0, 6});
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    Type small(Face::regular, size_small);
    const std::string text = wrapped(why.note, width - 28);
    const ImVec2 size = text_size(text);
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(at, {at.x + width, at.y + size.y + 20}, theme().raised, 6);
    list->AddRectFilled(at, {at.x + 3, at.y + size.y + 20}, theme().changed, 2);
    ImGui::SetCursorScreenPos({at.x + 14, at.y + 10});
    text_item(text);
    ImGui::SetCursorScreenPos({at.x, at.y + size.y + 24});
    ImGui::Dummy({width, 0});
    semantic_text(why.note, at, {at.x + width, at.y + size.y + 20});
    landmark("inspector/note", at, {at.x + width, at.y + size.y + 20});
}

}  // namespace

OperandsShown operands_shown(const app::Explained& why) {
    OperandsShown shown;
    for (const auto& o : why.operands) {
        shown.sum += o.product;
        if (std::isfinite(o.product)) shown.largest = std::max(shown.largest, std::abs(o.product));
        shown.negative = shown.negative || o.product < 0;
    }
    shown.which.resize(why.operands.size());
    std::iota(shown.which.begin(), shown.which.end(), std::size_t{0});
    if (std::ssize(shown.which) <= most_operands) return shown;
    // The largest operands decide the result, and a NaN decides it alone.
    const auto rank = [&](std::size_t i) {
        const double product = why.operands[i].product;
        const double size = std::isnan(product) ? std::numeric_limits<double>::infinity() : std::abs(product);
        return std::pair(-size, i);
    };
    std::ranges::partial_sort(shown.which, shown.which.begin() + most_operands, {}, rank);
    shown.which.resize(most_operands);
    return shown;
}

InspectorReply inspector(const app::Explained& why, const OperandsShown& shown, bool pinned, bool may_go_back,
                         const PlaceTold& told, const std::function<void()>& draw_change) {
    InspectorReply reply;
    if (may_go_back) {
        reply.back = button("inspector/back", "‹ Back");
        ImGui::Dummy({0, 2});
    }
    {
        Type semibold(Face::semibold, 18);
        wrapped_text(why.title, FLT_MAX, Role::heading);
    }
    landmark_item("inspector/title");
    line(Face::regular, size_small, theme().dim,
         why.provenance + (!pinned      ? ""
                           : by_touch() ? " · pinned"
                                        : " · pinned, Esc unpins it"));
    value(why);
    draw_change();
    if (!why.formula.empty()) line(Face::mono, size_small, theme().text, why.formula);
    operands(why, shown, told, reply);
    steps(why, told, reply);
    note(why);
    ImGui::Dummy({0, 6});
    if (const auto dialect = menu("inspector/copy", "Copy as", app::dialect_names))
        reply.copied = static_cast<app::Dialect>(*dialect);
    if (pinned) {
        ImGui::SameLine(0, 8);
        reply.unpinned = button("inspector/unpin", "Unpin");
    }
    return reply;
}

}  // namespace attn::ui
