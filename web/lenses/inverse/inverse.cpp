#include "lenses/inverse/inverse.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "app/clock.hpp"
#include "subjects/head_copy.hpp"

namespace attn::app {

Status MakeItSo::apply(State& state) const { return Together{edits}.apply(state); }

}  // namespace attn::app

namespace attn::app::inverse {

namespace {

constexpr Index inputs_limit = Index{1} << 21;  // numbers of X
constexpr double search_ms = 1;

// Returns the page that contains a place; it stays while another place on it is chosen.
Range page_of(Index place, Index all, Index size) {
    const Index first = place / size * size;
    return {first, std::min(first + size, all)};
}

// Returns at most this many around a place.
Range around(Index place, Index all, Index most) {
    const Index count = std::min(all, most), first = std::clamp(place - count / 2, Index{0}, all - count);
    return {first, first + count};
}

Range page_of_queries(const ChosenRow& row) {
    return page_of(row.query, row.record->queries(), queries_on_page);
}

Index heaviest_key(const ChosenRow& row) {
    const std::vector<float> weights = row.record->weights(row.head.head, row.query);
    return std::ranges::max_element(weights) - weights.begin();
}

ShownTokens keys_around(const ChosenRow& row, std::optional<Index> chosen,
                        const std::vector<CellWish>& wishes, Index heaviest) {
    const Index all = row.record->keys();
    const Range page = page_of(std::min(chosen.value_or(row.query), all - 1), all, keys_on_page);
    std::set<Index> keys;
    for (Index key = page.begin; key < page.end; ++key) keys.insert(key);
    for (const CellWish& each : wishes)
        if (each.query == row.query && each.key < all) keys.insert(each.key);
    keys.insert(heaviest);
    return {all, std::vector<Index>(keys.begin(), keys.end())};
}

std::optional<Model::Inputs> inputs_of(const Visit& visit, Subject& subject) {
    if (auto edited = edited_projections(subject, visit.state())) {
        const auto x = std::make_shared<const InputRows>(InputRows{edited->x.cols, edited->x.values});
        return Model::Inputs{x, x, {}, std::move(edited)};
    }
    const Attention& attention = *subject.attention();
    const Index layer = subject.chosen().layer;
    const auto trace = attention.trace();
    if (!trace || normalised(attention, layer)) return std::nullopt;
    const LayerAttention attended = trace->attention(layer);
    const auto rows = [](const Tensor& x, Index count) -> std::shared_ptr<const InputRows> {
        if (x.size() == 0 || x.size() > inputs_limit || x.dim(0) != count) return nullptr;
        return std::make_shared<const InputRows>(InputRows{x.dim(1), {x.values().begin(), x.values().end()}});
    };
    Model::Inputs made{rows(attended.run.attention_input, attention.queries()), {}, {}, {}};
    made.k =
        attended.place.kind == AttentionKind::cross ? rows(attended.key_input, attention.keys()) : made.q;
    if (!made.q || !made.k) return std::nullopt;
    if (const Rotary* rotary = trace->model()->network().rotary_of(layer))
        made.turns = TokenTurns{*rotary, rotary->of_text(trace->tokens())};
    return made;
}

}  // namespace

bool normalised(const Attention& attention, Index layer) {
    const auto trace = attention.trace();
    if (!trace) return false;
    const AttentionSublayer& half = trace->model()->network().attention(layer);
    return half.q_norm || half.k_norm;
}

// ---- The lens ---------------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    const Attention& attention = *subject.attention();
    if (attention.finished())
        return Missing{"A change of q or k needs q and k; these weights were given finished."};
    const auto record = attention.record(subject.chosen().layer);
    if (!record || record->d_k() > 0) {
        if (record && (record->queries() == 0 || record->keys() == 0))
            return Missing{"There is no query here, or no key to look at."};
        const std::vector<Stage> stages = attention.stages();
        if (std::ranges::find(stages, Stage::raw) != stages.end()) return std::nullopt;
    }
    return Missing{"These scores were given as they are; there are no q and k behind them to change."};
}

std::optional<Missing> Lens::missing(Subject& subject) const {
    auto missing = Model::missing(subject);
    const Ladder* ladder = subject.ladder();
    if (missing && ladder && ladder->edits())
        if (const auto instead = ladder->edits()->instead(state(), {.stage = Stage::q}))
            missing->offer = Offer{instead->label, instead->command};
    return missing;
}

// The fit belongs to no run, so it is kept.
void Lens::follow(const app::State&, Change) {
    if (&visit().lens() == this) return;
    auto fit = std::move(model().fit);
    release();
    model().fit = std::move(fit);
}

bool Lens::shows(Subject& subject, const CellRef& cell) const {
    if (cell.own()) return true;
    if (!cell.is(Stage::weight) || !cell.run()->is_plain()) return false;
    const ChosenRow row = chosen_row(subject);
    return row.record && page_of_queries(row).holds(cell.run()->row) &&
           keys_around(row, subject.chosen().key, state().of<State>().wishes, heaviest_key(row))
               .holds(cell.run()->col);
}

// ---- The change and the fit -------------------------------------------------------------------------------

void Model::update(Visit& visit, Subject& subject) {
    state = visit.state().of<State>();
    row = chosen_row(subject);
    key_chosen = subject.chosen().key;
    const Pattern& pattern = state.pattern;
    fit.of(pattern, [&] { return PatternFit(target_of(pattern), pattern.tokens, pattern.seed); });
    asked.reset();
    if (!row.record || row.record->queries() == 0 || row.record->keys() == 0) return change.forget();
    const Record& record = *row.record;
    unchanged.of(row, [&] {
        ScoreRow scores = score_row(record, row.head.head, row.query);
        RowChain chain(scores);
        return Unchanged{std::move(scores), std::move(chain), heaviest_key(row)};
    });
    const HeadOf head{visit.state().subject, subject.attention()->version(), row.head};
    const auto& made_of = inputs.of(head, [&] { return inputs_of(visit, subject); });
    asked = Asked{head, queries_shown(), state.of, state.wishes};
    weights.of({head, asked->page}, [&] {
        std::vector<std::vector<float>> rows;
        for (Index query = asked->page.begin; query < asked->page.end; ++query)
            rows.push_back(record.weights(row.head.head, query));
        return rows;
    });
    pattern_wishes.of({head, pattern}, [&] { return wishes_of(pattern, record, row.head.head); });
    // The targets may belong to a longer text.
    std::erase_if(asked->wishes, [&](const CellWish& wish) {
        return wish.query >= record.queries() || wish.key >= record.keys();
    });
    if (!made_of && asked->of == ChangeOf::w_q) asked->of = ChangeOf::q;
    if (!made_of && asked->of == ChangeOf::w_k) asked->of = ChangeOf::keys;
    change.of(*asked, [&] {
        const auto all_keys = asked->wishes.empty()
                                  ? nullptr
                                  : keys.of(head, [&] { return keys_in_double(record, row.head.head); });
        const auto x = !made_of                     ? nullptr
                       : asked->of == ChangeOf::w_q ? made_of->q
                       : asked->of == ChangeOf::w_k ? made_of->k
                                                    : nullptr;
        HeadChange made(row.record, row.head.head, asked->of, asked->wishes, all_keys, x, asked->page,
                        made_of ? made_of->turns : std::nullopt);
        // Most changes are found before the sentence about them is drawn.
        const Deadline soon(search_ms);
        while (!soon.passed() && made.step()) continue;
        return made;
    });
}

const FittedPattern* Model::fitted(Index components) const {
    const std::vector<FittedPattern>& found = fit.kept()->found();
    return components <= std::ssize(found) ? &found[static_cast<std::size_t>(components - 1)] : nullptr;
}

const Projections* Model::edited() const {
    const auto& made_of = *inputs.kept();
    return made_of && made_of->edited ? &*made_of->edited : nullptr;
}

Range Model::queries_shown() const { return page_of_queries(row); }
ShownTokens Model::keys_shown() const {
    return keys_around(row, key_chosen, asked->wishes, unchanged.kept()->heaviest);
}

// ---- Commands ---------------------------------------------------------------------------------------------

std::optional<Deed> deed(const Model& model, const Visit& visit, Subject& subject) {
    const HeadChange* now = model.change.kept();
    if (!now || !now->found() || now->is_so()) return std::nullopt;
    const Stage stage = info(now->of()).stage;
    const Record& record = now->record();
    const Ladder* ladder = subject.ladder();
    if (const LadderEdits* edits = ladder ? ladder->edits() : nullptr) {
        MakeItSo make;
        app::State next = visit.state();
        std::string hint = "Sets " + std::string(symbol(stage)) + " to what is shown below; one step of undo";
        if (!edits->may_edit(next, stage)) {
            const auto instead = edits->instead(next, {.stage = stage});
            if (!instead || !take(next, instead->command) || !edits->may_edit(next, stage))
                return std::nullopt;
            hint = instead->why + " From now on, Q, K and V are given themselves.";
            make.edits.push_back(instead->command);
        }
        for (Index row = 0; row < now->changed_rows(); ++row)
            for (Index col = 0; col < record.d_k(); ++col) {
                const RunCell cell{stage, row, col};
                if (const double more = now->change(row, col); more != 0)
                    make.edits.push_back(edits->set(cell, edits->value(next, cell) + more));
            }
        return Deed{"Make it so", std::move(hint), std::move(make)};
    }
    const CellWish& wish = now->wishes().front();
    const Range queries = around(wish.query, record.queries(), matrix_size_limit),
                keys = around(wish.key, record.keys(), matrix_size_limit);
    auto copy = chosen_copy(subject, queries, keys);
    if (!copy) return std::nullopt;
    for (Index a = 0; a < record.d_k(); ++a) {
        for (Index r = 0; r < queries.size(); ++r) copy->q.at(r, a) = now->q(queries.begin + r, a);
        for (Index r = 0; r < keys.size(); ++r) copy->k.at(r, a) = now->k(keys.begin + r, a);
    }
    copy->from += std::string(", with another ") + std::string(symbol(stage));
    const auto offer = offer_of(visit, *copy);
    if (!offer) return std::nullopt;
    return Deed{"Make it so in a copy",
                "Takes this head with the change to where its numbers can be edited" +
                    std::string(keys.size() == record.keys()
                                    ? ""
                                    : ", with 64 of its tokens; without the others, their weights go to "
                                      "these"),
                offer->command};
}

std::optional<Deed> take_pattern(const Model& model, const Visit& visit) {
    const FittedPattern* shown = model.fitted();
    if (!shown) return std::nullopt;
    const Index n = model.state.pattern.tokens;
    const std::vector<std::string> names = numbered_labels(n);
    const auto offer =
        offer_of(visit, {.q = Matrix(n, shown->d_k, shown->q),
                         .k = Matrix(n, shown->d_k, shown->k),
                         .v = identity(n, n),
                         .query_labels = names,
                         .key_labels = names,
                         .from = "a fitted pattern, seed " + std::to_string(model.state.pattern.seed)});
    if (!offer) return std::nullopt;
    return Deed{"Take these Q and K to the example",
                "V is the identity there, so that the output of each query is its row of weights",
                offer->command};
}

}  // namespace attn::app::inverse
