#include "widgets/flow_view.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/controls.hpp"
#include "widgets/flow_frame.hpp"
#include "widgets/flow_told.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

namespace {

constexpr float word_pitch = 22, heading_height = 20;
constexpr float low_rise = 68, high_rise = 132, widest_columns = 560;
constexpr std::size_t long_text = 64;  // with this many words or more, arcs rise higher
constexpr float sparse_zoom = 0.4f;    // here about every second word of readable size has room
std::uint64_t serials = 0;

}  // namespace

// ---- Places -----------------------------------------------------------------------------------------------

void FlowView::measure(const FlowPicture& picture) {
    Type face(Face::regular, size_body);
    if (version_ == picture.version && form_ == picture.form && font_size_ == ImGui::GetFontSize()) return;
    // One more word means that the same text continues.
    const Index grown = std::ssize(picture.queries) - std::ssize(queries_.places);
    if (form_ != picture.form || grown < 0 || grown > 1) {
        zoom_ = 1;
        zoomed_ = false;
        scroll_ = 0;
        followed_ = {};
    }
    version_ = picture.version;
    form_ = picture.form;
    font_size_ = ImGui::GetFontSize();
    queries_ = {{}, ++serials};
    keys_ = {{}, ++serials};
    if (form_ == FlowForm::arcs) {
        line_ = token_line(picture.queries, picture.small_print);
        for (Index i = 0; i < std::ssize(picture.queries); ++i) queries_.places.push_back(line_.centre(i));
        keys_.places = queries_.places;
        total_ = line_.total;
        return;
    }
    {
        Type small(Face::regular, size_small);
        name_width_ = text_size("query").x;  // width of the columns' headings
    }
    const auto fill = [&](Words& words, std::span<const std::string> names) {
        for (const std::string& name : names) {
            name_width_ = std::max(name_width_, text_size(name).x);
            words.places.push_back((static_cast<float>(words.places.size()) + 0.5f) * word_pitch);
        }
    };
    fill(queries_, picture.queries);
    fill(keys_, picture.keys);
    total_ = word_pitch * static_cast<float>(std::max(picture.queries.size(), picture.keys.size()));
}

void FlowView::zoom_about(float factor, float at) {
    const float before = zoom_;
    zoom_ = std::clamp(zoom_ * factor, fit_, 1.0f);
    scroll_ =
        std::clamp((scrolled_ + at) * zoom_ / before - at, 0.0f, std::max(total_ * zoom_ - room_, 0.0f));
}

Stretch FlowView::stretch(const Words& words, Range range) const {
    if (form_ == FlowForm::arcs) return line_.stretch(range);
    const auto at = [&](Index i) {
        return words.places[static_cast<std::size_t>(std::clamp(i, Index{0}, std::ssize(words.places) - 1))];
    };
    return {at(range.begin) - word_pitch / 2, at(range.end - 1) + word_pitch / 2};
}

// Words keep a readable size, so they take more of the line where it is zoomed farther out.
Stretch FlowView::zoomed(Stretch words) const {
    const float middle = (words.from + words.to) / 2 * zoom_,
                half = words.length() / 2 * std::max(zoom_, readable_scale),
                at = inside(middle, 2 * half, total_ * zoom_);
    return {at - half, at + half};
}

float FlowView::fitting_zoom(Stretch first, Stretch second) const {
    const float both = first.and_also(second).length(), sizes = (first.length() + second.length()) / 2;
    if (both * readable_scale <= room_ - 2 * outline_room) return fitting_scale(both, room_);
    const float zoom = (room_ - 2 * outline_room - sizes * readable_scale) / std::max(both - sizes, 1.0f);
    return zoom < sparse_zoom ? 1 : std::min(zoom, readable_scale);
}

// Brings what is chosen into view, when something else is chosen or the words have other places.
void FlowView::follow(const FlowPicture& picture) {
    const auto there = [](std::optional<Index> i, const Words& words) {
        return i && *i < std::ssize(words.places) ? i : std::nullopt;
    };
    const auto query = there(picture.chosen_query, queries_), key = there(picture.chosen_key, keys_);
    const Range look = query && picture.look ? picture.look->keys : Range{};
    const Followed now{query, key, look, total_, room_};
    if (std::exchange(followed_, now) == now || (!query && !key)) return;
    const Stretch first = query ? stretch(queries_, {*query, *query + 1}) : stretch(keys_, {*key, *key + 1});
    const auto second = look.size() > 0 ? std::optional(stretch(keys_, look)) : std::nullopt;
    float scrolled = scroll_.value_or(scrolled_);
    if (!zoomed_) {
        const float before = zoom_;
        zoom_ = std::max(fitting_zoom(first, second.value_or(first)), fit_);
        scrolled *= zoom_ / before;
    }
    scroll_ = scroll_to_both(zoomed(first), second ? std::optional(zoomed(*second)) : std::nullopt, scrolled,
                             room_, total_ * zoom_);
}

std::optional<Beyond> FlowView::beyond(const FlowPicture& picture, const Frame& frame) const {
    const Range look = looked_at(picture);
    if (look.size() <= 0 || look.end > std::ssize(keys_.places)) return std::nullopt;
    const Stretch at = zoomed(stretch(keys_, look));
    if (!frame.columns()) {
        const float zero = frame.key_origin.x;
        return beyond_view(*picture.look, {zero + at.from, zero + at.to}, {frame.min.x, frame.max.x},
                           frame.chips_top);
    }
    const float middle = frame.key_origin.y + (at.from + at.to) / 2;
    if (middle >= frame.min.y && middle <= frame.max.y) return std::nullopt;
    const bool above = middle < frame.min.y;
    Type face(Face::regular, size_body);
    const float height = ImGui::GetFontSize() + 3, left = frame.key_origin.x + name_pad - chip_pad,
                top = above ? frame.min.y : frame.max.y - height;
    const std::string arrow = above ? "↑ " : "↓ ";
    Beyond beyond{
        .chip = {},
        .name = arrow + shortened(picture.look->name, frame.max.x - left - text_size(arrow).x - 2 * chip_pad),
        .share = ""};
    beyond.chip = {{left, top}, {left + text_size(beyond.name).x + 2 * chip_pad, top + height}};
    return beyond;
}

std::pair<float, float> FlowView::columns(float width) const {
    const float names = std::min(name_width_, width * 0.26f) + name_pad + chip_pad;
    return {names, names + std::min(width - 2 * names - 2, widest_columns)};
}

FlowView::Frame FlowView::frame(const FlowPicture& picture, float width, float height) const {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ImDrawList* list = ImGui::GetWindowDrawList();
    Frame f;
    f.zoom = zoom_;
    f.min = list->GetClipRectMin();
    f.max = list->GetClipRectMax();
    f.shape.form = picture.form;
    const auto in_view = [&](const Words& words, float from, float to) {
        const auto index_at = [&](float place) {
            return std::ranges::lower_bound(words.places, place) - words.places.begin();
        };
        return Range{std::max(index_at(from / zoom_) - 1, Index{0}),
                     std::min(index_at(to / zoom_) + 1, std::ssize(words.places))};
    };
    if (picture.form == FlowForm::arcs) {
        f.shape.rise = height - chip_height - 6;
        f.shape.loop = std::clamp(
            zoom_ * total_ / static_cast<float>(std::max(std::ssize(queries_.places), Index{1})) / 3, 0.5f,
            5.0f);
        f.chips_top = corner.y + height - chip_height;
        f.query_origin = f.key_origin = {corner.x, f.chips_top - 2};
        f.queries = f.keys = in_view(queries_, f.min.x - corner.x, f.max.x - corner.x);
    } else {
        const auto [query, key] = columns(width);
        f.shape.width = key - query;
        f.query_origin = {corner.x + query, corner.y};
        f.key_origin = {corner.x + key, corner.y};
        f.queries = in_view(queries_, f.min.y - corner.y, f.max.y - corner.y);
        f.keys = in_view(keys_, f.min.y - corner.y, f.max.y - corner.y);
    }
    return f;
}

// ---- Mouse ------------------------------------------------------------------------------------------------

void FlowView::act(const FlowPicture& picture, const Frame& frame, FlowTouch& touch) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool columns = frame.columns();
    if (ImGui::IsItemActive() && dragged()) {
        if (columns)
            ImGui::SetScrollY(ImGui::GetScrollY() - io.MouseDelta.y);
        else
            ImGui::SetScrollX(ImGui::GetScrollX() - io.MouseDelta.x);
    }
    if (zooms()) {
        const ImVec2 corner = ImGui::GetWindowPos();
        const float at = columns ? io.MousePos.y - corner.y : io.MousePos.x - corner.x;
        const auto zoom = [&](float factor) {
            zoomed_ = true;
            zoom_about(factor, at);
        };
        if (const float notches = wheel_.notches(); notches != 0) zoom(std::exp(notches * 0.2f));
        if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0)) zoom(1 / zoom_);
    }
    const auto heard = [&](const char* prefix, const Words& words, std::optional<Index>& word) {
        const auto asked = asked_place(prefix);
        if (!asked || asked->col >= std::ssize(words.places)) return;
        word = asked->col;
        touch.clicked = asked->pressed;
        if (!asked->arrived) return;
        const Stretch at = zoomed(stretch(words, {*word, *word + 1}));
        if (columns)
            scroll_to({frame.min.x, frame.key_origin.y + at.from - word_pitch},
                      {frame.min.x + 1, frame.key_origin.y + at.to + word_pitch});
        else
            scroll_to_chip({{frame.query_origin.x + at.from, frame.chips_top},
                            {frame.query_origin.x + at.to, frame.chips_top + chip_height}});
    };
    heard("token/", queries_, touch.query);
    if (columns) heard("flow/key/", keys_, touch.key);
    if (touch.query || touch.key || !ImGui::IsItemHovered()) return;
    touch.clicked = ImGui::IsItemDeactivated() && !dragged();
    if (frame.beyond && ImGui::IsMouseHoveringRect(frame.beyond->chip.min, frame.beyond->chip.max)) {
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        if (std::exchange(touch.clicked, false))
            scroll_ = scroll_to_both(zoomed(stretch(keys_, picture.look->keys)), std::nullopt, scrolled_,
                                     room_, total_ * zoom_);
        return;
    }
    const auto nearest = [&](const Words& words, float from) -> std::optional<Index> {
        const float place = from / zoom_;
        const auto after = std::ranges::lower_bound(words.places, place) - words.places.begin();
        if (words.places.empty() || place < 0 || place > total_) return std::nullopt;
        const auto at = [&](Index i) { return words.places[static_cast<std::size_t>(i)]; };
        if (after == 0) return 0;
        if (after == std::ssize(words.places)) return after - 1;
        return at(after) - place < place - at(after - 1) ? after : after - 1;
    };
    if (!columns) {
        if (io.MousePos.y < frame.chips_top) return;
        const float x = io.MousePos.x - frame.query_origin.x;
        touch.query = zoom_ < readable_scale ? nearest(queries_, x) : line_.under(x / zoom_);
    } else if (io.MousePos.x < frame.query_origin.x + edge_reach) {
        touch.query = nearest(queries_, io.MousePos.y - frame.query_origin.y);
    } else if (io.MousePos.x > frame.key_origin.x - edge_reach) {
        touch.key = nearest(keys_, io.MousePos.y - frame.key_origin.y);
    }
}

FlowTouch FlowView::draw(const FlowPicture& picture, float width, float most_height) {
    measure(picture);
    const bool columns = picture.form == FlowForm::columns;
    const float room_below = std::max(most_height - heading_height, 6 * word_pitch);
    room_ = columns ? std::min(total_, room_below) : width;
    fit_ = std::min(1.0f, room_ / std::max(total_, 1.0f));
    zoom_ = std::max(zoom_, fit_);
    follow(picture);
    const bool overflows = total_ * zoom_ > room_ + 0.5f;
    const float rise = picture.queries.size() > long_text ? high_rise : low_rise;
    const float height = columns ? room_ : rise + 6 + chip_height;
    if (columns) {  // the headings stay in place
        const auto [query, key] = this->columns(width - (overflows ? ImGui::GetStyle().ScrollbarSize : 0));
        const ImVec2 corner = ImGui::GetCursorScreenPos();
        Type small(Face::regular, size_small);
        ImDrawList* list = ImGui::GetWindowDrawList();
        draw_text(list, {corner.x + query - name_pad - text_size("query").x, corner.y}, theme().dim, "query");
        draw_text(list, {corner.x + key + name_pad, corner.y}, theme().dim, "key");
        ImGui::Dummy({0, heading_height - ImGui::GetStyle().ItemSpacing.y});
    }

    const float along = std::max(total_ * zoom_, 1.0f);
    ImGui::SetNextWindowContentSize(columns ? ImVec2(0, along) : ImVec2(along, 0));
    if (scroll_) ImGui::SetNextWindowScroll(columns ? ImVec2(-1, *scroll_) : ImVec2(*scroll_, -1));
    scroll_.reset();
    const float bar = !columns && overflows ? ImGui::GetStyle().ScrollbarSize + 2 : 0;
    ImGui::BeginChild(ImGui::GetID(this), {width, height + bar}, 0,
                      columns ? 0 : ImGuiWindowFlags_HorizontalScrollbar);
    scrolled_ = columns ? ImGui::GetScrollY() : ImGui::GetScrollX();
    Frame frame = this->frame(picture, ImGui::GetContentRegionAvail().x, height);
    frame.beyond = beyond(picture, frame);
    ImGui::InvisibleButton("tokens", columns ? ImVec2(width, along) : ImVec2(along, height));
    landmark("flow", frame.min, frame.max);
    queries_in_view_ = frame.queries;
    keys_in_view_ = columns ? frame.keys : frame.queries;
    width_ = columns ? width : std::min(along, width);
    FlowTouch touch;
    act(picture, frame, touch);
    const auto told = told_edges(picture, frame.queries);
    hear_edges(told, touch);
    const std::size_t crowd = count_edges(picture, frame, touch);
    draw_edges(picture, frame, crowd);
    find_edge(picture, frame, crowd, touch);
    if (columns) {
        draw_column(picture, frame, false);
        draw_column(picture, frame, true);
    } else {
        draw_line(picture, frame);
    }
    if (frame.beyond) {
        draw_beyond(*frame.beyond, picture.series[0].colour);
        landmark("flow/beyond", frame.beyond->chip.min, frame.beyond->chip.max);
    }
    if (!told.empty()) tell_edges(picture, frame, told);
    if (touch.query || touch.key || touch.edge) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    ImGui::EndChild();
    return touch;
}

}  // namespace attn::ui
