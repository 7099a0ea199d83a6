#include "widgets/semantics.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "app/format.hpp"
#include "widgets/scroll.hpp"

namespace attn::ui {

namespace {

constexpr std::array role_names{"group",      "region",     "tablist", "tab",      "tabpanel", "button",
                                "radiogroup", "radio",      "listbox", "option",   "menu",     "menuitem",
                                "slider",     "spinbutton", "textbox", "combobox", "heading",  "paragraph",
                                "status",     "img",        "grid"};

// A request waits for its widget, such as one still being laid out or hidden while a lens computes, for so
// many frames and at least so many seconds.
constexpr int patience = 4;
constexpr double least_patience = 0.5;

struct Waiting {
    Ask ask;
    double since = 0;
    int frames = 0;
};

struct Focus {
    std::string key;
    Index row = -1, col = -1;
    bool arrived = false;
};

struct Semantics {
    std::vector<Node> nodes, given;
    std::string typing, given_typing;
    std::array<int, role_names.size()> texts{};  // number of text nodes in this frame, by role
    int depth = 0;
    bool changed = true;
    std::vector<Waiting> asks;
    Focus focus;
    bool pressed = false;     // a place was pressed in this frame
    std::string under_press;  // in this frame
};
Semantics now;

std::optional<Ask> taken(Ask::Kind kind, auto&& is_its) {
    const auto found = std::ranges::find_if(
        now.asks, [&](const Waiting& each) { return each.ask.kind == kind && is_its(each.ask.key); });
    if (found == now.asks.end()) return std::nullopt;
    Ask ask = std::move(found->ask);
    now.asks.erase(found);
    return ask;
}

std::string text_key(Role role) {
    const auto at = static_cast<std::size_t>(role);
    return std::string(role_names[at]) + "/" + std::to_string(now.texts[at]++);
}

}  // namespace

bool CellGrid::operator==(const CellGrid& o) const {
    const auto same = [](ImVec2 a, ImVec2 b) { return a.x == b.x && a.y == b.y; };
    return rows == o.rows && cols == o.cols && first_row == o.first_row && first_col == o.first_col &&
           row_names == o.row_names && column_names == o.column_names && words == o.words &&
           digits == o.digits && same(at, o.at) && same(cell, o.cell) && chosen == o.chosen &&
           editable == o.editable && std::ranges::equal(values, o.values, [](double a, double b) {
               return a == b || (std::isnan(a) && std::isnan(b));
           });
}

bool Node::operator==(const Node& o) const {
    return key == o.key && role == o.role && depth == o.depth && name == o.name && value == o.value &&
           description == o.description && active == o.active && disabled == o.disabled && on == o.on &&
           opens == o.opens && lines == o.lines && range == o.range && min.x == o.min.x && min.y == o.min.y &&
           max.x == o.max.x && max.y == o.max.y && (grid == o.grid || (grid && o.grid && *grid == *o.grid));
}

void clear_semantics() {
    now.nodes.clear();
    now.typing.clear();
    now.texts = {};
    now.depth = 0;
    now.pressed = false;
    now.under_press.clear();
    std::erase_if(now.asks, [time = ImGui::GetTime()](Waiting& each) {
        return ++each.frames > patience && time > each.since + least_patience;
    });
}

// ---- Nodes --------------------------------------------------------------------------------------------

Node& semantic_place(Role role, std::string key, std::string name, ImVec2 min, ImVec2 max) {
    if (now.focus.arrived && now.focus.key == key) {
        now.focus.arrived = false;
        scroll_to(min, max);
    }
    return now.nodes.emplace_back(Node{.key = std::move(key),
                                       .role = role,
                                       .depth = now.depth,
                                       .name = std::move(name),
                                       .min = min,
                                       .max = max,
                                       .window = ImGui::GetCurrentWindow()->ID});
}

Node& semantic_item(Role role, std::string key, std::string name) {
    const ImGuiLastItemData& item = ImGui::GetCurrentContext()->LastItemData;
    if (now.focus.arrived && now.focus.key == key) {
        if (item.ID != 0) ImGui::FocusItem();
    }
    if (!now.asks.empty() && item.ID != 0 &&
        taken(Ask::Kind::press, [&](const std::string& asked) { return asked == key; }))
        ImGui::ActivateItemByID(item.ID);
    if (item.ID != 0 && item.ID == ImGui::GetActiveID() && ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
        now.under_press.empty())
        now.under_press = key;
    Node& node = semantic_place(role, std::move(key), std::move(name), item.Rect.Min, item.Rect.Max);
    node.disabled = (item.ItemFlags & ImGuiItemFlags_Disabled) != 0;
    return node;
}

void semantic_text(Role role, std::string_view text) {
    if (text.empty()) return;
    semantic_place(role, text_key(role), std::string(text), ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

void semantic_text(std::string_view text, ImVec2 min, ImVec2 max) {
    semantic_place(Role::paragraph, text_key(Role::paragraph), std::string(text), min, max);
}

const std::string& node_under_press() { return now.under_press; }
void forget_press() { now.under_press.clear(); }

void describe(const char* text) {
    for (auto node = now.nodes.rbegin(); node != now.nodes.rend(); ++node) {
        if (node->role == Role::radio) continue;
        if (node->role != Role::paragraph) node->description = text;
        return;
    }
}

void rename_node(std::string name) { now.nodes.back().name = std::move(name); }

void node_opens(bool open) {
    now.nodes.back().opens = true;
    now.nodes.back().on = open;
}

Node& semantic_field(Role role, std::string key, std::string name, std::string_view text) {
    const bool has_keyboard = ImGui::IsItemActive();
    Node& node = semantic_item(role, std::move(key), std::move(name));
    node.value = text;
    if (has_keyboard) now.typing = node.key;
    return node;
}

void begin_semantic_group(Role role, std::string key, std::string name) {
    semantic_place(role, std::move(key), std::move(name), {}, {});
    ++now.depth;
}
void end_semantic_group() { --now.depth; }

// ---- Requests -----------------------------------------------------------------------------------------

void ask(Ask what) { now.asks.push_back({std::move(what), ImGui::GetTime()}); }

void focus_node(std::string key, Index row, Index col) { now.focus = {std::move(key), row, col, true}; }

bool focus_is_in(std::string_view prefix) { return now.focus.key.starts_with(prefix); }

std::optional<AskedCell> asked_cell(const std::string& key) {
    const auto pressed = taken(Ask::Kind::press, [&](const std::string& asked) { return asked == key; });
    if (pressed) return now.pressed = true, AskedCell{pressed->row, pressed->col, true, true};
    if (now.focus.key != key) return std::nullopt;
    return AskedCell{now.focus.row, now.focus.col, false, std::exchange(now.focus.arrived, false)};
}

std::optional<AskedCell> asked_place(const std::string& prefix) {
    const auto number = [&](const std::string& key) -> std::optional<Index> {
        Index i = 0;
        const char* end = key.data() + key.size();
        if (!key.starts_with(prefix)) return std::nullopt;
        const auto [at, error] = std::from_chars(key.data() + prefix.size(), end, i);
        return error == std::errc{} && at == end ? std::optional(i) : std::nullopt;
    };
    if (const auto pressed =
            taken(Ask::Kind::press, [&](const std::string& asked) { return number(asked).has_value(); }))
        return now.pressed = true, AskedCell{0, *number(pressed->key), true, true};
    const auto at = number(now.focus.key);
    if (!at) return std::nullopt;
    return AskedCell{0, *at, false, std::exchange(now.focus.arrived, false)};
}

bool take_press() { return std::exchange(now.pressed, false); }

double asked_steps(const std::string& key) {
    double steps = 0;
    while (const auto step = taken(Ask::Kind::step, [&](const std::string& asked) { return asked == key; }))
        steps += step->steps;
    return steps;
}

std::optional<double> semantic_slider(const std::string& key, std::string name, std::string value,
                                      const SliderRange& range, bool logarithmic) {
    Node& node = semantic_item(Role::slider, key, std::move(name));
    node.value = std::move(value);
    node.range = range;
    const double steps = asked_steps(key);
    if (steps == 0) return std::nullopt;
    // A step is a power of ten: about a hundredth of the range or, on a logarithmic scale, a tenth of the
    // value's decade.
    const double unit = logarithmic
                            ? std::pow(10, std::floor(std::log10(range.now) + 1e-9) - 1)
                            : std::pow(10, std::floor(std::log10((range.most - range.least) / 100) + 1e-9));
    const double to =
        std::clamp(std::isinf(steps) ? steps : range.now + unit * steps, range.least, range.most);
    return to != range.now ? std::optional(to) : std::nullopt;
}

// ---- Output for the page ------------------------------------------------------------------------------

const std::vector<Node>& semantics() { return now.nodes; }

bool semantics_changed() {
    // Until the page has taken the change, there is no need to look again.
    return now.changed = now.changed || now.typing != now.given_typing || now.nodes != now.given;
}

namespace {

std::string written(const CellGrid& grid, std::size_t i) {
    if (!grid.words.empty()) return grid.words[i];
    const double value = grid.values[i];
    return std::isinf(value) && value < 0 ? "hidden" : app::with_digits(value, grid.digits);
}

nlohmann::json json_of(const CellGrid& grid) {
    std::vector<std::string> cells(std::max(grid.words.size(), grid.values.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = written(grid, i);
    nlohmann::json json{{"rows", grid.rows},
                        {"cols", grid.cols},
                        {"first", {grid.first_row, grid.first_col}},
                        {"rowNames", grid.row_names},
                        {"columnNames", grid.column_names},
                        {"cells", std::move(cells)},
                        {"at", {grid.at.x, grid.at.y}},
                        {"cell", {grid.cell.x, grid.cell.y}},
                        {"editable", grid.editable}};
    if (grid.chosen) json["chosen"] = {grid.chosen->first, grid.chosen->second};
    return json;
}

nlohmann::json json_of(const Node& node) {
    nlohmann::json json{
        {"key", node.key},
        {"role", role_names[static_cast<std::size_t>(node.role)]},
        {"depth", node.depth},
        {"name", node.name},
        {"place", {node.min.x, node.min.y, node.max.x - node.min.x, node.max.y - node.min.y}}};
    if (!node.value.empty()) json["value"] = node.value;
    if (!node.description.empty()) json["description"] = node.description;
    if (!node.active.empty()) json["active"] = node.active;
    if (node.disabled) json["disabled"] = true;
    if (node.on) json["on"] = *node.on;
    if (node.opens) json["opens"] = true;
    if (node.lines) json["lines"] = true;
    if (node.range.least < node.range.most)
        json["range"] = {node.range.now, node.range.least, node.range.most};
    if (node.grid) json["grid"] = json_of(*node.grid);
    return json;
}

}  // namespace

std::string take_semantics() {
    std::unordered_map<std::string_view, const Node*> before;
    for (const Node& node : now.given) before.emplace(node.key, &node);
    std::unordered_set<std::string_view> seen;
    nlohmann::json nodes = nlohmann::json::array();
    for (const Node& node : now.nodes) {
        if (!seen.insert(node.key).second) continue;
        const auto found = before.find(node.key);
        if (found != before.end() && *found->second == node)
            nodes.push_back(node.key);
        else
            nodes.push_back(json_of(node));
    }
    const nlohmann::json json{{"nodes", std::move(nodes)}, {"typing", now.typing}};
    now.given = now.nodes;
    now.given_typing = now.typing;
    now.changed = false;
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace attn::ui
