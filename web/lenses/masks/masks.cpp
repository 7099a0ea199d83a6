#include "lenses/masks/masks.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "maps/mask_map.hpp"
#include "subjects/explain.hpp"

namespace attn::app::masks {

namespace {

bool is_left(const auto& job) { return job && !job->done(); }

void prune(app::State& state) {
    if (!fits_into_a_link(state.of<State>().mask.text())) state.edit<State>().mask = State{}.mask;
}

std::optional<Mask> read_mask(std::string_view text) {
    auto mask = Mask::parse(text);
    return mask ? std::optional(*std::move(mask)) : std::nullopt;
}
constexpr std::string_view mask_examples[] = {"causal(0) & window(15,0)", "window(3,1) | first(2)"};

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"masks.n",
         [](const S& s) {
             return s.size ? "mask of " + with_commas(s.size) + " queries"
                           : std::string("mask of these tokens");
         },
         whole<&S::size>("number of queries and keys", 0, size_limit)},
        {"masks.off", {"mask off by one", "mask as written"}, whole<&S::shift>("shift", -1, 1)},
        {"masks.run", {"model under the mask", "model as it is"}, word<&S::runs>("1")},
        {"masks.mask",
         [](const S& s) {
             constexpr std::size_t most = 60;
             const std::string text = s.mask.text();
             return "mask " + (text.size() <= most ? text : text.substr(0, most) + "…");
         },
         spelled<&S::mask, read_mask, [](const Mask& mask) { return mask.text(); }>("mask", mask_examples)},
    };
    static const Fields<S> fields{.all = all, .check = [](const S& s) -> Status {
                                      // A composed mask may be nested more deeply than the parser allows.
                                      const auto read = Mask::parse(s.mask.text());
                                      return read ? ok() : Status(read.error());
                                  }};
    return fields;
}
LinkRows links() { return {.rows = rows_of_fields<State, 4>(), .prune = prune}; }

// ---- What the mask does -----------------------------------------------------------------------------------

void Model::update(Visit& visit, Subject& subject) {
    Attention& attention = *subject.attention();
    state = visit.state().of<State>();
    selection = visit.state().selection;
    version = attention.version();
    const HeadIndex head = subject.chosen_head();
    const bool own = state.size == 0;
    const Looked now{shifted(state.mask, state.shift), own ? attention.queries() : state.size,
                     own ? attention.keys() : state.size, head, own ? version : 0};
    // Weights that are still being computed are requested again.
    if (counting && looked == now && (lost_of_own || !own)) return;
    if (!counting || looked.mask != now.mask || looked.queries != now.queries || looked.keys != now.keys ||
        looked.head.head != head.head) {
        map = mask_map(now.mask, head.head, now.queries, now.keys);
        counting.emplace(now.mask, head.head, now.queries, now.keys);
        race.reset();
    }
    looked = now;
    lost_of_all.reset();
    lost_of_own.reset();
    // A head that came as finished weights has no vectors.
    const auto of_head = attention.record(head.layer);
    d_k = of_head ? of_head->d_k() : 64;
    d_v = of_head ? of_head->d_v() : 64;
    record = own ? of_head : nullptr;
    query_names = own ? attention.query_names() : numbered_labels(looked.queries);
    key_names = own ? attention.key_names() : numbered_labels(looked.keys);
    if (own) {
        // Asking for the weights has them measured.
        const bool measured = !attention.being_measured(Stage::weight);
        const MapPointer weights = attention.map(head.layer, head.head, {.stage = Stage::weight});
        if (weights && measured) lost_of_own.emplace(weights, looked.mask, head.head);
        if (record && measured && !record->spec().mask.is_everything())
            if (auto all = RowLosses::without_mask(*record, looked.mask, head.head))
                lost_of_all = *std::move(all);
    }
    step();
}

Model::Key Model::key() const {
    const auto done = [](const auto& job) { return Index{job && job->done()}; };
    return {looked, version, selection.query, selection.key,
            done(counting) + done(lost_of_all) + done(lost_of_own) + done(race) + masked_run.done()};
}

bool Model::step() {
    if (is_left(counting))
        counting->step();
    else if (is_left(lost_of_all))
        lost_of_all->step();
    else if (is_left(lost_of_own))
        lost_of_own->step();
    else if (masked_run.working())
        masked_run.step();
    else if (race)
        race->step();
    return pending();
}

bool Model::pending() const {
    return is_left(counting) || is_left(lost_of_all) || is_left(lost_of_own) || is_left(race) ||
           masked_run.working();
}

const EmptyRowExample& Model::empty_example() {
    ExampleOf of{looked, record, 0, selection.key.value_or(-1)};
    const std::vector<Index>& kept = counting->counts().kept;
    if (has_empty_row())
        of.query = std::ranges::find(kept, 0) - kept.begin();
    else if (selection.query && *selection.query < looked.queries)
        of.query = *selection.query;
    return example_.of(of, [&] {
        return empty_row_example(record.get(), looked.mask, looked.head.head, of.query, looked.keys, of.key);
    });
}

// ---- Texts ------------------------------------------------------------------------------------------------

std::string Model::query_name(Index query) const { return in_quotes(label_at(query_names, query)); }
std::string Model::key_name(Index key) const { return in_quotes(label_at(key_names, key)); }

namespace {

// Says what the model predicts under this mask, once it has run.
std::string prediction_headline(const Model& model, Subject& subject) {
    const MaskedRun& run = model.masked_run;
    const auto trace = subject.attention()->trace();
    if (!model.state.runs || !trace || !run.done() || run.tokens().empty()) return "";
    const auto share_before = [&](std::int32_t id) {
        return run.chances_before()[static_cast<std::size_t>(id)];
    };
    const auto share_after = [&](std::int32_t id) {
        return run.chances_after()[static_cast<std::size_t>(id)];
    };
    // The likeliest tokens of both runs are among these.
    const std::array ids{*std::ranges::max_element(run.tokens(), {}, share_before),
                         *std::ranges::max_element(run.tokens(), {}, share_after)};
    const auto [before, after] = ids;
    const std::vector<std::string> names = subject.token_texts(ids);
    if (names.size() < 2) return "";
    const std::string there = trace->model()->network().causal ? "next" : "there";
    if (before == after)
        return "Under this mask, " + curly_quoted(names[1]) + " still comes " + there + ": " +
               percent(share_after(after)) + ", before " + percent(share_before(before)) + ".";
    return "Under this mask, " + curly_quoted(names[1]) + " comes " + there + " (" +
           percent(share_after(after)) + "), not " + curly_quoted(names[0]) + " (" +
           percent(share_before(before)) + " before).";
}

}  // namespace

std::string Model::headline(Subject& subject) {
    const MaskCounts& counts = counting->counts();
    if (!counting->done()) return "Counting what this mask keeps.";
    const double cells = std::max(static_cast<double>(counts.cells()), 1.0);
    const Index without = counts.rows_without_key();
    const std::string text = "This mask keeps " + with_commas(counts.kept_cells) + " of " +
                             with_commas(counts.cells()) + " cells (" +
                             percent(static_cast<double>(counts.kept_cells) / cells) + ")" +
                             (without == 0   ? ", and every query has a key."
                              : without == 1 ? ", and 1 query has no key."
                                             : ", and " + with_commas(without) + " queries have no key."),
                      predicted = prediction_headline(*this, subject);
    return predicted.empty() ? text : predicted + "\n" + text;
}

Guide Model::guide(Subject&) {
    return {
        "What a mask does",
        "A mask says which keys each query may look at. A hidden key has a weight of exactly 0: its score is "
        "taken as −∞ before softmax, so what it would have had goes to the keys that are left.\n\n"
        "A kernel that computes attention tile by tile skips the tiles in which nothing is allowed. That is "
        "why a "
        "window makes long texts cheap, and why a stride, which leaves something in every tile, does not."};
}

}  // namespace attn::app::masks
