// Finds the row of a subject's attention that lenses about a single query show.
#pragma once

#include <algorithm>
#include <memory>

#include "subjects/subject.hpp"

namespace attn::app {

struct ChosenRow {
    std::shared_ptr<const Record> record;  // null until it is computed
    HeadIndex head;
    Index query = 0;  // the chosen one, otherwise the predicted one; −1 if there is none
    bool operator==(const ChosenRow&) const = default;
};

// The subject must have an attention.
inline Index chosen_query(Subject& subject) {
    const Attention& attention = *subject.attention();
    return std::min(subject.chosen().query.value_or(attention.predicted()), attention.queries() - 1);
}
inline ChosenRow chosen_row(Subject& subject) {
    const HeadIndex head = subject.chosen_head();
    return {subject.attention()->record(head.layer), head, chosen_query(subject)};
}

// The row that is explained while no query is chosen: the predicted one, as everywhere, or the last one in
// view.
inline Index usual_row(Subject& subject, Range queries) {
    return std::clamp(subject.attention()->predicted(), queries.begin,
                      std::max(queries.end - 1, queries.begin));
}

}  // namespace attn::app
