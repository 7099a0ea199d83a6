// Draws the controls of the lens, and walks through the decoding.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "subjects/explain.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr double play_ms = 600;

// Keeps controls together, on a line that breaks if they do not fit.
void group(float width, auto draw) {
    ui::next_control(width);
    ImGui::BeginGroup();
    draw();
    ImGui::EndGroup();
}

// A slider over whole numbers.
std::optional<Index> whole_slider(const char* name, const char* label, Index value, Index least, Index most) {
    const auto to = ui::slider(name, label, static_cast<double>(value), static_cast<double>(least),
                               static_cast<double>(most), "%.0f");
    return to ? std::optional(static_cast<Index>(std::lround(*to))) : std::nullopt;
}

std::optional<Index> number_stepper(const char* name, const char* label, Index value, Index least,
                                    Index most) {
    std::optional<Index> chosen;
    group(ui::need::stepper, [&] { chosen = ui::stepper(name, label, value, least, most); });
    return chosen;
}

}  // namespace

void CacheLens::set(const CacheState& wanted) {
    if (wanted != now()) visit().perform(SetCache{wanted}, ui::gesture());
}

// ---- Controls ---------------------------------------------------------------------------------------------

void CacheLens::draw_presets() {
    for (const CachePreset& preset : cache_presets) {
        std::optional<Command> reads;
        for (const SubjectEntry& entry : subject_list())
            if (!reads) reads = static_cast<Subject&>(visit().subject(entry.key)).reads(preset.text, "");
        if (!reads) continue;
        ui::next_control(ui::text_size(preset.name).x + 2 * ImGui::GetStyle().FramePadding.x);
        if (ui::button(("cache/preset/" + std::string(preset.key)).c_str(), preset.name))
            visit().perform(Together{{*reads, SetCache{preset.cache}, OpenLens{state().lens}}});
        ui::tooltip(preset.text);
    }
}

void CacheLens::draw_cost_controls(Subject& subject, CacheState& next) {
    const Cost all = cost(subject);
    const Index context = std::max<Index>(subject.attention()->trace()->model()->config().context, 2);
    group(ui::need::slider, [&] {
        if (const auto to = whole_slider("cache/prompt", "prompt", all.prompt, 1, context - 1))
            next.prompt = *to;
    });
    ui::tooltip("Tokens that are read at once");
    if (context - all.prompt > 1)
        group(ui::need::slider, [&] {
            if (const auto to =
                    whole_slider("cache/written", "then write", all.written, 1, context - all.prompt))
                next.written = *to;
        });
    group(ui::need::named_choices, [&] {
        ui::label("compared window");
        static constexpr std::array<const char*, 2> names{"its own", "another"};
        if (const auto chosen = ui::choice("cache/window", names, now().window > 0 ? 1 : 0))
            next.window = *chosen == 0 ? 0 : std::max<Index>(2, all.after(all.written) / 2);
    });
    if (now().window > 0)
        if (const auto to = number_stepper("cache/window_of", "keys", now().window, 1, context))
            next.window = *to;
}

// If only one is left, there is nothing to choose.
void CacheLens::draw_prompt(Subject& subject, CacheState& next) {
    const Index last = subject.attention()->trace()->tokens() - 1;
    if (last < 2) return;
    group(ui::need::slider, [&] {
        if (const auto to = whole_slider("cache/prompt", "prompt", prompt(), 1, last)) next.prompt = *to;
    });
    ui::tooltip("Tokens that are read at once, with all of their keys");
}

void CacheLens::draw_bits_controls(CacheState& next) {
    static constexpr std::array<const char*, 3> names{"16", "8", "4"};
    group(ui::need::choices, [&] {
        ui::label("bits");
        const int taken = now().rounding.bits == 16 ? 0 : now().rounding.bits == 8 ? 1 : 2;
        if (const auto chosen = ui::choice("cache/bits", names, taken))
            next.rounding.bits = cache_bits[static_cast<std::size_t>(*chosen) + 1];
    });
    if (now().rounding.bits == 16) return;
    if (const auto to = number_stepper("cache/group", "group", now().rounding.group, 2, cache_most_group))
        next.rounding.group = *to;
}

void CacheLens::draw_eviction_controls(Subject& subject, CacheState& next) {
    const Index all = subject.attention()->trace()->tokens();
    const EvictionRule& rule = now().eviction;
    group(ui::need::named_choices, [&] {
        ui::label("keep");
        if (const auto chosen = ui::choice("cache/policy", policy_names, static_cast<int>(rule.policy)))
            next.eviction.policy = static_cast<EvictionPolicy>(*chosen);
    });
    if (all > 1)
        group(ui::need::slider, [&] {
            if (const auto to = whole_slider("cache/budget", "keys", std::min(rule.budget, all), 1, all))
                next.eviction.budget = *to;
        });
    if (rule.policy == EvictionPolicy::sinks)
        if (const auto to = number_stepper("cache/sinks", "sinks", rule.sinks, 0, all))
            next.eviction.sinks = *to;
    if (rule.policy != EvictionPolicy::snapkv) return;
    if (const auto to =
            number_stepper("cache/observed", "queries observed", rule.observed, 1, cache_most_observed))
        next.eviction.observed = *to;
    const Index pooling = rule.pooling;
    group(ui::need::stepper, [&] {
        if (const auto to =
                ui::stepper("cache/pooling", "pooled over", std::to_string(pooling),
                            {pooling - 2, pooling > 1 ? "" : "1 is the minimum."},
                            {pooling + 2, pooling < cache_most_pooling ? "" : "63 is the maximum."},
                            {static_cast<double>(pooling), 1, static_cast<double>(cache_most_pooling)}))
            next.eviction.pooling = *to;
    });
}

void CacheLens::draw_controls(const Drawing& drawing, Subject& subject) {
    CacheState next = now();
    static constexpr std::array<const char*, cache_part_count> names{"cost", "bits", "eviction"};
    if (const auto chosen = ui::labelled_choice("show", "cache/part", names, static_cast<int>(now().part)))
        next.part = static_cast<CachePart>(*chosen);
    switch (now().part) {
        case CachePart::cost: draw_cost_controls(subject, next); break;
        case CachePart::bits:
            draw_bits_controls(next);
            draw_prompt(subject, next);
            break;
        case CachePart::eviction:
            draw_eviction_controls(subject, next);
            draw_prompt(subject, next);
            break;
    }
    set(next);
    if (now().part != CachePart::cost && shown_) draw_steps(drawing, subject);
    draw_presets();
}

// ---- Step by step -----------------------------------------------------------------------------------------

void CacheLens::go(const Drawing& drawing, Subject& subject, Index query, std::uint64_t gesture) const {
    Selection selection = selection_of(drawing);
    if (trace_->attention(selection.layer).place.kind == AttentionKind::encoder) {
        selection.layer = run_cell(subject, head(subject), Stage::weight, 0, 0).head.layer;
        selection.key.reset();
    }
    selection.query = query;
    visit().perform(Select{selection}, gesture);
}

// Goes through the steps by hand, which stops the automatic walk.
void CacheLens::draw_steps(const Drawing& drawing, Subject& subject) {
    const Index first = shown_->prompt(), last = shown_->tokens() - 1, at = query(subject);
    const auto leap = [&](Index to) {
        play_.reset();
        go(drawing, subject, to, ui::gesture());
    };
    if (ui::button("cache/back", "Back", at > first)) leap(at - 1);
    ImGui::SameLine(0, 6);
    if (ui::button("cache/forward", "Forward", at < last)) leap(at + 1);
    ImGui::SameLine(0, 6);
    if (ui::button("cache/play", play_ ? "Pause" : "Play", {"Play", "Pause"},
                   last > first ? ok() : Status(Error{"There is only one step."}))) {
        if (play_) {
            play_.reset();
        } else {
            play_ = Play{ui::gesture(), now_ms() + (at == last ? play_ms : 0)};
            if (at == last) go(drawing, subject, first, play_->gesture);
        }
    }
    if (last == first) return;
    group(ui::need::slider, [&] {
        if (const auto to = whole_slider("cache/step", "step", at - first + 1, 1, last - first + 1))
            leap(first + *to - 1);
    });
}

void CacheLens::play(const Drawing& drawing, Subject& subject) {
    if (!play_ || !shown_) return;
    const double time = now_ms();
    if (time >= play_->next_ms) {
        const Index at = query(subject), last = shown_->tokens() - 1;
        if (at < last) go(drawing, subject, at + 1, play_->gesture);
        if (at + 1 >= last) return play_.reset();
        play_->next_ms = time + play_ms;
    }
    drawing.visit.continue_at(play_->next_ms);
}

void CacheLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    update(subject);
    while (!drawing.deadline.passed() && step(subject)) continue;
    play(drawing, subject);
    ui::hint(now().part == CachePart::cost
                 ? "Make the prompt longer, or click a cell to compare another cache with this model’s."
             : now().part == CachePart::bits
                 ? "Choose 8 bits, then 4: the fewer bits, the farther the next token moves."
                 : "Press Play: each step sees the keys that are left. Then choose another policy, or "
                   "fewer keys.");
    if (ui::settings()) draw_controls(drawing, subject);
    // A preset may have requested another model.
    if (!subject.attention() || missing(subject)) return;
    update(subject);
    ImGui::Dummy({0, 6});
    if (now().part == CachePart::cost)
        draw_cost(drawing, subject);
    else if (refused_.empty())
        draw_decoded(drawing, subject);
    if (step(subject))
        drawing.visit.continue_with([this, &subject, trace = trace_] {
            return subject.attention() && subject.attention()->trace() == trace && trace == trace_ &&
                   step(subject);
        });
}

}  // namespace attn::app
