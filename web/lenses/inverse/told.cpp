// Writes the headline of lens Make it so and the texts beside it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "app/format.hpp"
#include "lenses/inverse/inverse.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app::inverse {

namespace {

// Completes a sentence: "no change of q".
std::string name_of(const HeadChange& change) {
    switch (change.of()) {
        case ChangeOf::q: return "q";
        case ChangeOf::key: return "k";
        case ChangeOf::keys: return "the keys";
        default: return change_name(change.of());
    }
}

std::string why_not(const Attention& attention, const HeadChange& change) {
    using enum Obstacle::Why;
    if (change.too_large())
        return "That is too much to look for over so many keys: wish for cells of fewer rows, or change the "
               "queries.";
    const Obstacle& why = *change.obstacle();
    const std::string query = query_in_words(attention, change.obstacle_row()),
                      key = key_in_words(attention, why.key);
    const std::string what = name_of(change);
    const double softcap = change.record().spec().softcap;
    switch (why.why) {
        case not_finite:
            return "The score of " + key + " is not finite, so no change of this row can be worked out.";
        case hidden:
            return "The mask hides " + key + " from " + query + ": its weight is 0, whatever the scores are.";
        case extreme: return "A weight of exactly 0 or 1 cannot be had: a score would have to be infinite.";
        case too_much:
            return "These wishes add up to " + rounded(why.most, 3) +
                   " and leave nothing for the keys without one; a row has 1 in all.";
        case alone: return "There must be a key in sight without a wish, which gets what is left of the 1.";
        case unmoved:
            if (change.of() == ChangeOf::w_q)
                return "X of " + query + " is 0, or all keys are the same: no " + what + " moves this row.";
            if (change.of() == ChangeOf::q)
                return "All keys that " + query +
                       " sees are the same, so their scores move together: no q "
                       "tells them apart.";
            return "q of " + query + " is 0 or cannot tell the keys apart: no change of " + what +
                   " moves this row.";
        case same:
            return key + " and " + key_in_words(attention, why.other) +
                   " move together, so their weights stay in one ratio: " + key +
                   " can never have as much as " + fixed(why.most, 4) + ".";
        case capped:
            return "The soft cap of " + rounded(softcap, 2) + " limits the scores: " + key +
                   " cannot have more than " + fixed(why.most, 4) + ".";
        case capped_here:
            return "The soft cap of " + rounded(softcap, 2) +
                   " limits the scores: the most that was "
                   "found for " +
                   key + " is " + fixed(why.most, 4) + ".";
        case surrounded: {
            std::string text = "No " + what + " gives " + key + " more than " + fixed(why.most, 4) +
                               ": it lies among the other keys";
            if (why.mixture.empty()) return text + ", at their edge.";
            std::vector<Index> order(why.mixture.size());
            std::iota(order.begin(), order.end(), Index{0});
            std::ranges::partial_sort(order, order.begin() + std::min<Index>(3, std::ssize(order)),
                                      std::greater{},
                                      [&](Index j) { return why.mixture[static_cast<std::size_t>(j)]; });
            text += ", as their mixture of ";
            int listed = 0;
            for (const Index j : order) {
                const double share = why.mixture[static_cast<std::size_t>(j)];
                if (listed == 3 || share < 0.005) break;
                text += (listed++ ? ", " : "") + percent(share) + " " + key_in_words(attention, j);
            }
            return text + (std::ssize(order) > 4 ? " and others." : ".");
        }
        case not_together: break;
    }
    return change.wishes().size() > 1
               ? "No change of " + what + " was found with which these wishes are true together."
               : "No change of " + what + " was found that gives " + key + " this weight.";
}

// Names a key as the query gives it a weight.
std::string key_for(const Attention& attention, Index query, Index key) {
    return attention.one_line() && query == key ? "itself" : key_in_words(attention, key);
}

std::string headline_without_wish(const Model& model, const Attention& attention) {
    const Index row = model.row.query;
    const std::string query = query_in_words(attention, row);
    Index best = -1;
    double most = -1;
    for (Index j = 0; j < model.row.record->keys(); ++j) {
        const CellExplanation cell = model.unchanged.kept()->chain.at(j);
        if (!std::isfinite(cell.weight))
            return "A score of " + query + " is not a number, so there is nothing to be wished for.";
        if (cell.allowed && cell.weight > most) most = cell.weight, best = j;
    }
    if (best < 0) return "The mask leaves " + query + " nothing to look at, so no change gives it a weight.";
    return capitalised(query) + " gives " + key_for(attention, row, best) + " " + fixed(most, 3) +
           " of its weight. Choose a cell, and say what it should be.";
}

}  // namespace

std::string Model::headline(Subject& subject) {
    const HeadChange* now = change.kept();
    if (!now) return "Computing q and k of this head.";
    const Attention& attention = *subject.attention();
    const std::vector<CellWish>& wishes = now->wishes();
    if (wishes.empty()) return headline_without_wish(*this, attention);
    if (now->obstacle() || now->too_large()) return why_not(attention, *now);
    if (!now->found()) return "Searching for the least change.";
    const CellWish& wish = wishes.front();
    const std::string comes = wishes.size() == 2 ? "both wishes come true."
                              : wishes.size() > 2
                                  ? "all " + std::to_string(wishes.size()) + " wishes come true."
                                  : query_in_words(attention, wish.query) + " gives " +
                                        key_for(attention, wish.query, wish.key) + " " +
                                        shortest(wish.weight) + " of its weight.";
    if (now->is_so()) return "Nothing has to change: as it is, " + comes;
    const bool many_change = now->of() == ChangeOf::keys ||
                             (now->of() == ChangeOf::key && wishes.size() > 1) ||
                             (now->of() == ChangeOf::q && now->wished_rows().size() > 1);
    const std::string what = now->of() == ChangeOf::q ? many_change ? "the queries" : "q"
                             : now->of_projection()   ? name_of(*now)
                             : many_change            ? "the keys"
                                                      : "k of " + key_in_words(attention, wish.key);
    return "Once " + what + (many_change ? " change" : " changes") + " by " + fixed(now->norm(), 4) + ", " +
           comes;
}

Guide Model::guide(Subject&) {
    return {
        "The least change that makes it so",
        "You say what a weight is to be; the shortest change of q, of keys or of a projection that makes "
        "it so is looked for, in steps that answer the wish as if it were linear (Gauss and Newton, "
        "damped), then along all changes with the same row to the shortest. Raising weights has one shortest "
        "change. Where a weight falls, any other key may take its place, so one search begins for each.\n\n"
        "A query makes a key the strongest only if the key is no mixture of the others. A projection "
        "serves all tokens at once, so it moves other rows, too.\n\n"
        "Below, a whole pattern is fitted with ever more components: few suffice to look at the right "
        "key, more to have the right weights (Yang et al. 2018)."};
}

// ---- The change ------------------------------------------------------------------------------------------

namespace {

// Σ of the squares of what changes.
double squares_before(const Model& model, const HeadChange& change) {
    const Record& record = change.record();
    const ConstMatrix q = record.q().heads().head(change.head()),
                      k = record.k().heads().head(record.kv_head(change.head()));
    double squares = 0;
    const auto add = [&](auto&& numbers) {
        for (const double each : numbers) squares += each * each;
    };
    if (change.of() == ChangeOf::q)
        for (const Index row : change.wished_rows())
            add(std::span(q.row(row), static_cast<std::size_t>(q.cols)));
    if (change.of() == ChangeOf::key || change.of() == ChangeOf::keys)
        for (Index j = 0; j < k.rows; ++j)
            if (change.left(0, j) != 0) add(std::span(k.row(j), static_cast<std::size_t>(k.cols)));
    if (const Projections* edited = model.edited(); edited && change.of_projection())
        add((change.of() == ChangeOf::w_q ? edited->w_q : edited->w_k).values);
    return squares;
}

}  // namespace

std::string told(const Model& model, Subject& subject) {
    const HeadChange& change = *model.change.kept();
    const Attention& attention = *subject.attention();
    const Record& record = change.record();
    const std::string what = change.of() == ChangeOf::q ? "what it was"
                             : change.of_projection()   ? change_name(change.of())
                                                        : "the keys that move";
    std::string text = (change.proven() ? "The least change has length " : "The change has length ") +
                       fixed(change.norm(), 4);
    if (const double squares = squares_before(model, change); squares > 0)
        text += ", " + percent(change.norm() / std::sqrt(squares)) + " of " + what;
    text +=
        ", found in " + many(std::ssize(change.search()->iterations()) - 1, "step") +
        (change.proven() ? "." : "; no shorter one was found from " + many(change.starts(), "start") + ".");
    const auto in_row = [&](const HeadChange::Moved& most) {
        return "in the row of " + query_in_words(attention, most.query) + ", the weight of " +
               key_in_words(attention, most.key) + " moves most, by " + (most.by > 0 ? "+" : "−") +
               fixed(std::abs(most.by), 4) + ".";
    };
    if (change.within().key >= 0 && change.within().by != 0) text += " Besides, " + in_row(change.within());
    if (change.of() != ChangeOf::q && !change.all_moved()) {
        text += " The other rows are being worked out.";
    } else if (change.elsewhere().query < 0 || change.elsewhere().by == 0) {
        text += " No other row moves.";
    } else {
        const Index looked = change.rows_looked_at();
        text += (looked < record.queries() ? " Of " + std::to_string(looked) + " rows looked at, "
                                           : std::string(" Elsewhere, ")) +
                in_row(change.elsewhere());
    }
    const bool of_keys = change.of() != ChangeOf::q && change.of() != ChangeOf::w_q;
    if (of_keys && record.kv_heads() < record.heads()) text += " Other heads share these keys.";
    return text;
}

}  // namespace attn::app::inverse
