#include "lenses/order/order.hpp"

#include <numeric>

#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app::order {

namespace {

constexpr Index shift_limit = 1'000'000, pair_limit = 4096;
constexpr Index usual_trained = 2048;  // if there is no model
constexpr std::array<std::string_view, position_schemes> scheme_names{
    "no positions", "learned", "sinusoidal", "RoPE", "ALiBi", "T5 buckets", "T5’s own"};

std::vector<Index> in_place(Index tokens) {
    std::vector<Index> order(static_cast<std::size_t>(tokens));
    std::iota(order.begin(), order.end(), Index{0});
    return order;
}

bool is_order(const std::vector<Index>& order) {
    std::vector<Index> sorted = order;
    std::ranges::sort(sorted);
    return std::ssize(order) <= tokens_limit && sorted == in_place(std::ssize(order));
}

std::optional<std::vector<Index>> read_order(std::string_view text) { return read_integers(text); }
std::string write_order(const std::vector<Index>& order) { return write_integers(order); }
constexpr std::string_view order_examples[] = {"2,0,1", "1,0"};

// Scores that are given, rather than computed from q and k, have no raw stage.
bool has_vectors(const Attention& attention) {
    const std::vector<Stage> stages = attention.stages();
    return std::ranges::find(stages, Stage::raw) != stages.end();
}

// Positions are consecutive, and so are the tokens in view: the last ones, if the chosen one is among them. A
// reordering starts at the first token, unless it names another.
Range in_view(Index tokens, std::optional<Index> wanted, bool ordered, std::optional<Index> chosen) {
    const Index count = std::min(tokens, tokens_limit), last_first = tokens - count,
                token = ordered ? 0 : std::min(chosen.value_or(0), tokens - 1),
                with_token = token >= last_first ? last_first : std::max(token + 1 - count, Index{0}),
                first = std::clamp(wanted.value_or(with_token), Index{0}, last_first);
    return {first, first + count};
}

// The chosen token as an index into those in view.
Index chosen_in(Range in_view, std::optional<Index> chosen, Index otherwise) {
    return chosen && in_view.holds(*chosen) ? *chosen - in_view.begin : otherwise;
}

}  // namespace

// ---- Settings ---------------------------------------------------------------------------------------------

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"order.positions", [](const S& s) { return std::string(scheme_name(s.scheme)); },
         named<&S::scheme>(cells::scheme_words)},
        {"order.shift", [](const S& s) { return "shifted by " + with_commas(s.shift); },
         whole<&S::shift>("shift", 0, shift_limit)},
        {"order.factor", "{} times the trained length", whole<&S::factor>("factor", 1, factor_limit)},
        {"order.trained", [](const S& s) { return "trained length " + with_commas(s.trained); },
         whole<&S::trained>("trained length", 0, trained_limit)},
        {"order.mask", {"with the head’s mask", "without a mask"}, word<&S::masked>("own")},
        {"order.turn", [](const S& s) { return "query moved by " + with_commas(s.turn); },
         whole<&S::turn>("number of positions", 0, turn_limit)},
        {"order.seed", "seed {}", whole<&S::seed>("seed", 0, seed_limit)},
        {"order.keys",
         {"order of keys", "keys in their own order"},
         spelled<&S::key_order, read_order, write_order>("place of each key", order_examples)},
        {"order.tokens",
         {"order of tokens", "tokens in their own order"},
         spelled<&S::order, read_order, write_order>("place of each token", order_examples)},
        {"order.first", "from token {}", whole<&S::first>("first token", 0, position_limit - 1)},
        {"order.first_key", "from key {}", whole<&S::first_key>("first key", 0, position_limit - 1)},
        {"order.far", [](const S& s) { return "at distance " + with_commas(s.far); },
         whole<&S::far>("distance", 0, trained_limit * factor_limit)},
        {"order.pair", "pair {}", whole<&S::pair>("pair of components", 0, pair_limit - 1)},
        {"order.reach", "distances to {}", whole<&S::reach>("distance", 1, reach_limit)},
        {"order.content", {"mean q and k", "the chosen q and k"}, word<&S::mean>("mean")},
        {"order.pairs", {"pairs (2a, 2a + 1)", "pairs (a, a + d_k/2)"}, word<&S::interleaved>("interleaved")},
    };
    static const Fields<S> fields{.all = all,
                                  .check = [](const S& s) -> Status {
                                      if (!is_order(s.order) || !is_order(s.key_order))
                                          return Error{"An order has each of at most " +
                                                       std::to_string(tokens_limit) + " tokens once."};
                                      return ok();
                                  },
                                  .normalise =
                                      [](S& s) {
                                          for (std::vector<Index>* each : {&s.order, &s.key_order})
                                              if (*each == in_place(std::ssize(*each))) each->clear();
                                      }};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 16>()}; }

std::string_view scheme_name(PositionScheme scheme) { return scheme_names[static_cast<std::size_t>(scheme)]; }

std::vector<Index> order_of(const std::vector<Index>& order, Index tokens) {
    return std::ssize(order) == tokens ? order : in_place(tokens);
}

std::vector<Index> with_moved(std::vector<Index> order, Index from, Index to) {
    const auto begin = order.begin();
    if (from < to)
        std::rotate(begin + from, begin + from + 1, begin + to + 1);
    else
        std::rotate(begin + to, begin + from, begin + from + 1);
    return order;
}

// Rows 0, 1, 7 and 11 were indices over components, keys and pairs, whose numbers the link does not contain.
std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    const auto within = [](const CellRef& cell) {
        return cell.own()->is_within() ? std::optional(cell) : std::nullopt;
    };
    switch (row) {
        case 2: return output_change(col);
        case 3: return within(largest_output_change(col));
        case 4: return within(equal_scores(col));
        case 5: return within(largest_score_change(col, Precision::f32));
        case 6: return within(largest_score_change(col, Precision::f64));
        case 8: return rotary_pair(col);
        case 9: return within(score_at_distance(col / 513, col % 513));
        case 10: return within(extrapolated_score(col / 96, col % 96));
        default: return std::nullopt;
    }
}

// ---- Numbers ----------------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    const Attention& attention = *subject.attention();
    if (attention.finished())
        return Missing{"These weights came finished. Positions act on the q and k that weights are made of."};
    if (!has_vectors(attention))
        return Missing{"Here the scores are given. Positions act on the q and k that scores are made of."};
    return std::nullopt;
}

void Model::update(Visit& visit, Subject& subject) {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    auto record = attention.record(head.layer);
    state = visit.state().of<State>();
    const bool one_line = attention.one_line() && attention.queries() == attention.keys();
    const Selection chosen = subject.chosen();
    const auto query = !chosen.query && attention.trace() ? attention.predicted() : chosen.query;
    const Range of_queries = in_view(attention.queries(), state.first, !state.order.empty(), query),
                of_keys = one_line ? of_queries
                                   : in_view(attention.keys(), state.first_key, !state.key_order.empty(),
                                             chosen.key);
    if (!record || of_queries.size() < 1 || of_keys.size() < 1) {
        const State kept = std::move(state);
        *this = {};
        state = kept;
        refused = record ? "There are no tokens here to put in order."
                         : "The q and k of this head are being computed.";
        return;
    }
    const Seen wanted{attention.version(), head, of_queries, of_keys};
    if (!content || seen != wanted) {
        seen = wanted;
        content = std::make_shared<const UnplacedRows>(attention.trace(), std::move(record), head, of_queries,
                                                       one_line ? std::nullopt : std::optional(of_keys));
        refused = content->finite() ? ""
                                    : "A q, k or v of these tokens is NaN or infinite, so their outputs "
                                      "cannot be compared. Choose other tokens.";
        queries = {.in_view = of_queries,
                   .names = labels_in(attention.query_names(), of_queries),
                   .first_position = content->query_position(0)};
        keys = {.in_view = of_keys,
                .names = labels_in(attention.key_names(), of_keys),
                .first_position = content->key_position(0)};
        runs.forget();
    }
    const Selection& selection = visit.state().selection;
    queries.chosen = chosen_in(of_queries, selection.query, of_queries.size() - 1);
    keys.chosen = chosen_in(of_keys, selection.key, 0);
    queries.order = order_of(state.order, of_queries.size());
    keys.order = one_line ? queries.order : order_of(state.key_order, of_keys.size());
    if (!refused.empty()) return;
    runs.of({seen, queries.order, keys.order, state.masked, state.interleaved, state.shift, state.seed}, [&] {
        std::array<std::optional<Reordering>, position_schemes> all;
        for (std::size_t s = 0; s < position_schemes; ++s)
            all[s] = reordering(*content, rule(static_cast<PositionScheme>(s)), queries.order, keys.order,
                                state.shift, state.masked);
        return all;
    });
}

const Reordering* Model::run(PositionScheme scheme) const {
    const auto* all = runs.kept();
    const auto s = static_cast<std::size_t>(scheme);
    return all && (*all)[s] ? &*(*all)[s] : nullptr;
}

PositionRule Model::rule(PositionScheme scheme) const {
    return content->rule(scheme, state.seed, state.interleaved, !state.masked);
}

std::span<const PositionScheme> Model::offered() const {
    using enum PositionScheme;
    static constexpr std::array all{none, learned, sinusoidal, rotary, alibi, buckets, own_buckets};
    static_assert(all.size() == position_schemes && all.back() == own_buckets);
    return std::span(all).first(content->own_bias() ? all.size() : all.size() - 1);
}

bool Model::in_own_order() const {
    return std::ranges::is_sorted(queries.order) && std::ranges::is_sorted(keys.order);
}

Index Model::trained() const {
    if (state.trained > 0) return state.trained;
    return content->context() > 0 ? content->context() : usual_trained;
}

Model::CurvesOf Model::curves_of() const {
    return {.seen = seen,
            .pair = state.mean ? CurvePair{} : CurvePair{queries.chosen, keys.chosen},
            .interleaved = state.interleaved,
            .masked = state.masked,
            .seed = state.seed,
            .reach = state.reach,
            .trained = trained(),
            .factor = state.factor};
}

Curves& Model::curves() {
    const CurvesOf of = curves_of();
    return kept_curves.of(of, [&] {
        PositionRules rules;
        for (std::size_t s = 0; s < position_schemes; ++s) rules[s] = rule(static_cast<PositionScheme>(s));
        return Curves{{content, of.pair, std::move(rules), of.reach},
                      {content, of.pair, of.interleaved, of.trained, of.factor}};
    });
}

// ---- Texts ------------------------------------------------------------------------------------------------

std::string Model::headline(Subject&) {
    if (!refused.empty()) return refused;
    const Reordering* shown = run();
    if (!shown) return lacking(*this);
    using enum UnplacedRows::From;
    const bool plain = state.scheme == PositionScheme::none;
    // In some layers q and k contain positions, whatever is left out here.
    const bool has_some = content->from() == inside || content->from() == crossed;
    const std::string with = !plain     ? "with " + std::string(scheme_name(state.scheme)) + " positions"
                             : has_some ? "without adding positions"
                                        : "without positions";
    if (in_own_order())
        return "Drag a word to see what the order changes " + with + ".\n" +
               (content->one_line()
                    ? many(queries.size(), "token")
                    : with_commas(queries.size()) + (queries.size() == 1 ? " query" : " queries") + " and " +
                          many(keys.size(), "key")) +
               " stand in their own order.";
    const std::string off = fixed(shown->carried.most_f32(), 2);
    if (!shown->along())
        return capitalised(with) + (plain ? ", but under the head’s mask," : ",") +
               " the new order changes the outputs by up to " + off + ".";
    return capitalised(with) +
           (std::ranges::is_sorted(queries.order)
                ? ", every output stayed, and the keys took their weights along."
                : ", every output moved along with its token.") +
           "\nThe largest difference is " + off + ".";
}

std::string lacking(const Model& model) {
    return model.state.scheme == PositionScheme::own_buckets
               ? "This head has no biases of its own; choose another scheme."
               : "The learned table has no row for these positions.";
}

namespace {

std::string where_from(const UnplacedRows& content) {
    using enum UnplacedRows::From;
    switch (content.from()) {
        case given: return "q and k are taken as they are, with whatever positions are in them.";
        case unturned: return "q and k are taken before this model’s RoPE turns them.";
        case embedding:
            return "Positions are really left out: q, k and v are made of the token embeddings alone. "
                   "“Learned” is the model’s own table.";
        case biased:
            return "This model adds its positions to the scores, by biases that are left out here; “T5’s "
                   "own” puts them back.";
        case crossed:
            return "q is of what is written and k of what was read; whatever positions are in them were told "
                   "before this attention.";
        case inside: break;
    }
    return "This model adds its positions to the embedding, so in this layer they are inside q and k "
           "already.";
}

// Empty if queries and keys are the same tokens.
std::string standing(const UnplacedRows& content) {
    if (content.one_line()) return "";
    if (!content.has_diagonal())
        return content.from() == UnplacedRows::From::crossed
                   ? " Both texts begin at position 0, so a distance is one between places in two texts."
                   : " Queries and keys both begin at position 0, since no mask says how they stand to each "
                     "other.";
    const Index offset = content.offset();
    if (offset == 0) return " Queries and keys both begin at position 0, as the mask has them.";
    return offset > 0 ? " The mask sees " + many(offset, "key") +
                            " before the first query, as a past in a KV cache: queries begin at position " +
                            with_commas(offset) + ", keys at 0."
                      : " The mask lets key 0 be seen from query " + with_commas(-offset) +
                            " on: keys begin at position " + with_commas(-offset) + ", queries at 0.";
}

std::string why_moved(const Model& model) {
    const Reordering* shown = model.run();
    if (!shown || model.in_own_order()) return "";
    if (shown->along())
        return "The same products are added up in another order, so the sums may differ by rounding alone. "
               "In double precision it is " +
               fixed(shown->carried.most_f64(), 1) + ".";
    if (model.state.scheme == PositionScheme::none)
        return model.content->one_line()
                   ? "The mask stays where it is, so in another order a token sees other tokens."
                   : "The mask stays where it is, so in another order a query sees other keys.";
    if (model.state.masked) return "Both the mask and the scheme say where a token stands.";
    return "The scores depend on where the tokens stand, and so do the weights.";
}

}  // namespace

std::string told(const Model& model) {
    return where_from(*model.content) + standing(*model.content) + " " + why_moved(model);
}

Guide Model::guide(Subject&) {
    return {"Order",
            "By itself attention is blind to order: put the tokens in another order and the outputs come in "
            "that order, unchanged. Where the keys are other tokens, their order leaves the outputs as they "
            "are. Positions have to be told.\n\n"
            "Learned and sinusoidal positions are added to q and k, RoPE turns them, ALiBi and T5 add a "
            "number to the score that depends on the distance.\n\n"
            "Where only the distance counts, shifting all positions changes nothing but the rounding.\n\n"
            "Hover over a number, a dial or a curve to see where it comes from; click to keep it."};
}

}  // namespace attn::app::order
