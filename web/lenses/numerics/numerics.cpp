#include "lenses/numerics/numerics.hpp"

#include <algorithm>

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app::numerics {

namespace {

constexpr std::array<std::string_view, 3> step_words{"all", "sums", "fused"};
constexpr std::array<std::string_view, 2> measure_words{"absolute", "relative"};

bool has_stage(const Attention& attention, Stage stage) {
    return std::ranges::count(attention.stages(), stage) > 0;
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"numerics.format", [](const S& s) { return "rounded to " + std::string(info(s.format).name); },
         named<&S::format>(cells::format_words)},
        {"numerics.rounded", [](const S& s) { return arithmetic_text(s.arithmetic()); },
         named<&S::steps>(step_words)},
        {"numerics.sums", [](const S& s) { return arithmetic_text(s.arithmetic()); },
         named<&S::order>(cells::order_words)},
        {"numerics.max",
         [](const S& s) -> std::string {
             return s.without_max ? "maximum not subtracted" : "maximum subtracted";
         },
         word<&S::without_max>("kept")},
        {"numerics.stage", [](const S& s) { return std::string("error of ") + stage_name(s.stage); },
         named<&S::stage>(chain_stage_keys)},
        {"numerics.error", "{} error", named<&S::measure>(measure_words)},
    };
    // Online attention has to subtract the largest score so far.
    static const Fields<S> fields{.all = all, .normalise = [](S& s) {
                                      if (s.order == SumOrder::online) s.without_max = false;
                                  }};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 6>()}; }

// ---- The model --------------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    const Attention& attention = *subject.attention();
    if (attention.finished())
        return Missing{
            "Rounding needs the vectors behind the weights, Q and K; here there are only finished weights."};
    if (!attention.record(subject.chosen().layer))
        return Missing{.sentence = "Rounding needs this head’s Q and K, which are still being computed.",
                       .comes = true};
    if (has_stage(attention, Stage::raw)) return std::nullopt;
    return Missing{"Rounding needs the vectors behind the scores, Q and K; here the scores are given."};
}

void Model::update(Visit& visit, Subject& subject) {
    const Attention& attention = *subject.attention();
    state = visit.state().of<State>();
    const ChosenRow row = chosen_row(subject);
    head = row.head;
    query = row.query;
    key_chosen = subject.chosen().key;
    refused = query < 0 || row.record->keys() == 0 ? "There is no query here, or no key to look at." : "";
    const ChainWindow now = refused.empty() ? chain_window(row.record, head.head, query) : ChainWindow();
    if (now != window) chains_.clear();
    window = now;
    if (!refused.empty()) return;
    with_values = has_stage(attention, Stage::contribution);
    stages = chain_stages(*window.record, state.arithmetic().is_shifted(), with_values);
    const std::vector<Arithmetic> all = wanted();
    std::erase_if(chains_,
                  [&](const auto& each) { return std::ranges::find(all, each->arithmetic()) == all.end(); });
}

Model::Key Model::key() const {
    const auto done = std::ranges::count_if(chains_, [](const auto& each) { return each->done(); });
    return {window, state, query, static_cast<std::size_t>(done)};
}

Arithmetic Model::with_format(std::size_t format) const {
    Arithmetic how = state.arithmetic();
    how.format = static_cast<NumberFormat>(format);
    return how;
}
Arithmetic Model::with_order(std::size_t order) const {
    Arithmetic how = state.arithmetic();
    how.order = static_cast<SumOrder>(order);
    return how;
}

// The chosen chain comes first, after the exact one.
std::vector<Arithmetic> Model::wanted() const {
    std::vector<Arithmetic> all{exact_arithmetic(state.arithmetic().is_shifted()), state.arithmetic()};
    const auto add = [&](const Arithmetic& how) {
        if (std::ranges::count(all, how) == 0) all.push_back(how);
    };
    for (std::size_t format = 0; format < format_count; ++format) add(with_format(format));
    for (std::size_t order = 0; order < order_count; ++order) {
        add(exact_arithmetic(with_order(order).is_shifted()));
        add(with_order(order));
    }
    return all;
}

const RoundedChain* Model::chain(const Arithmetic& how) const {
    for (const auto& each : chains_)
        if (each->arithmetic() == how && each->done()) return each.get();
    return nullptr;
}

bool Model::step() {
    if (!refused.empty()) return false;
    const auto find = [&](const Arithmetic& how) {
        return std::ranges::find(chains_, how, [](const auto& each) { return each->arithmetic(); });
    };
    for (const Arithmetic& how : wanted()) {
        auto at = find(how);
        if (at != chains_.end() && (*at)->done()) continue;
        if (at != chains_.end()) {
            (*at)->step();
            return true;
        }
        const Arithmetic exact = exact_arithmetic(how.is_shifted());
        chains_.push_back(std::make_shared<RoundedChain>(window, how, how == exact ? nullptr : *find(exact)));
        return true;
    }
    return false;
}

const ExtremeAt* Model::extreme(std::size_t which) {
    const RoundedChain* exact = chain(exact_arithmetic(state.arithmetic().is_shifted()));
    if (!exact) return nullptr;
    const auto& found = extremes_.of(window, [&] { return extremes(*exact, with_values); })[which];
    return found ? &*found : nullptr;
}

ChainStage Model::shown_stage() const {
    return std::ranges::count(stages, state.stage) > 0 ? state.stage : ChainStage::weight;
}

ChainStage Model::on_screen(ChainStage stage) const {
    if (stage == ChainStage::masked && window.record->spec().bias.empty()) stage = ChainStage::capped;
    return stage == ChainStage::capped && window.record->spec().softcap == 0 ? ChainStage::scaled : stage;
}

ChainStage Model::summed_stage() const {
    return shown_stage() >= ChainStage::raw ? shown_stage()
           : with_values                    ? ChainStage::output
                                            : ChainStage::weight;
}

}  // namespace attn::app::numerics
