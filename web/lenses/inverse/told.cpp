// Writes the lens's sentence and the texts beside it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "app/format.hpp"
#include "lenses/inverse/inverse.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"

namespace attn::app {

namespace {

// Completes a sentence: "no change of q".
std::string name_of(const HeadChange& change) {
    switch (change.of()) {
        case ChangeOf::q: return "q";
        case ChangeOf::key: return "k";
        case ChangeOf::keys: return "the keys";
        default: return info(change.of()).label;
    }
}

}  // namespace

std::string InverseLens::why_not(Subject& subject, const HeadChange& change) const {
    using enum Obstacle::Why;
    if (change.too_large())
        return "That is too much to look for over so many keys: wish for cells of fewer rows, or change the "
               "queries.";
    const Obstacle& why = *change.obstacle();
    const Attention& attention = *subject.attention();
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

std::string InverseLens::spoken(Subject& subject) {
    const HeadChange* now = change(subject);
    if (!now) return "Computing q and k of this head.";
    const Attention& attention = *subject.attention();
    const auto named = [&](Index query, Index key) {
        return attention.one_line() && query == key ? "itself" : key_in_words(attention, key);
    };
    if (now->wishes().empty()) {
        const Chosen& row = chosen(subject, *now);
        const std::string query = query_in_words(attention, row.query);
        Index best = -1;
        double most = -1;
        for (Index j = 0; j < now->record().keys(); ++j) {
            const CellExplanation cell = row.now.at(j);
            if (!std::isfinite(cell.weight))
                return "A score of " + query + " is not a number, so there is nothing to be wished for.";
            if (cell.allowed && cell.weight > most) most = cell.weight, best = j;
        }
        if (best < 0)
            return "The mask leaves " + query + " nothing to look at, so no change gives it a weight.";
        return capitalised(query) + " gives " + named(row.query, best) + " " + fixed(most, 3) +
               " of its weight. Choose a cell, and say what it should be.";
    }
    if (now->obstacle() || now->too_large()) return why_not(subject, *now);
    if (!now->found()) return "Searching for the least change.";
    const CellWish& wish = now->wishes().front();
    const std::string comes = now->wishes().size() == 2 ? "both wishes come true."
                              : now->wishes().size() > 2
                                  ? "all " + std::to_string(now->wishes().size()) + " wishes come true."
                                  : query_in_words(attention, wish.query) + " gives " +
                                        named(wish.query, wish.key) + " " + shortest(wish.weight) +
                                        " of its weight.";
    if (now->is_so()) return "Nothing has to change: as it is, " + comes;
    const bool many_change = now->of() == ChangeOf::keys ||
                             (now->of() == ChangeOf::key && now->wishes().size() > 1) ||
                             (now->of() == ChangeOf::q && now->wished_rows().size() > 1);
    const std::string what = now->of() == ChangeOf::q ? many_change ? "the queries" : "q"
                             : now->of_projection()   ? name_of(*now)
                             : many_change            ? "the keys"
                                                      : "k of " + key_in_words(attention, wish.key);
    return "Once " + what + (many_change ? " change" : " changes") + " by " + fixed(now->norm(), 4) + ", " +
           comes;
}

Guide InverseLens::guide(Subject&) const {
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

}  // namespace attn::app
