#include "learn/numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "app/format.hpp"
#include "app/link.hpp"
#include "attention/explain.hpp"
#include "learn/arguments.hpp"
#include "learn/predicted.hpp"
#include "lenses/lens.hpp"

namespace attn::app::learn {

namespace {

using lesson::Value;
using Values = std::span<const Value>;

// What a name's value is computed from.
struct Place {
    Visit& visit;
    const StepSoFar& step;
    Subject& subject;
    Attention& attention;  // the head's
    HeadIndex head;
    std::string_view name;
};

// ---- Rows of weights ----------------------------------------------------------------------------------

Result<double> explained_number(const Place& at, const CellRef& cell) {
    const auto why = at.subject.explain_at({at.head, cell});
    if (!why) return Error{"No number here is called " + write_cell(cell) + "."};
    if (std::isnan(why->f64)) return Error{"It is not computed yet."};
    return why->in_double.value_or(why->f64);
}

// The weights of a query, [keys].
Result<std::vector<double>> weights_of(const Place& at, Index query) {
    constexpr Index most_explained = 64;  // keys, each with an explanation of its own
    const Index keys = at.attention.keys();
    std::vector<double> weights;
    const auto record = at.attention.record(at.head.layer);
    if (keys <= most_explained || !record) {
        for (Index key = 0; key < keys; ++key) {
            const auto weight =
                explained_number(at, RunCell{.stage = Stage::weight, .row = query, .col = key});
            if (!weight) return weight.error();
            weights.push_back(*weight);
        }
        return weights;
    }
    const RowChain chain = row_chain(*record, at.head.head, query);
    for (Index key = 0; key < keys; ++key) weights.push_back(chain.at(key).weight);
    return weights;
}

Index strongest(const std::vector<double>& weights) {
    return std::ranges::max_element(weights) - weights.begin();
}

Result<Value> of_row(const Place& at, Values given) {
    const auto query = token_at(at.attention, given[0], Side::query);
    if (!query) return query.error();
    const auto weights = weights_of(at, *query);
    if (!weights) return weights.error();
    if (weights->empty()) return Error{"The query has no keys."};
    if (at.name == "entropy")
        return Value(std::accumulate(weights->begin(), weights->end(), 0.0, [](double sum, double w) {
            return w > 0 ? sum - w * std::log(w) : sum;
        }));
    const Index most = strongest(*weights);
    if (at.name == "largest") return Value((*weights)[static_cast<std::size_t>(most)]);
    if (at.name == "argmax_position") return Value(static_cast<double>(most));
    return Value(key_in_words_alone(at.attention, most));
}

Result<Value> rank_of_key(const Place& at, Values given) {
    const auto query = token_at(at.attention, given[0], Side::query);
    if (!query) return query.error();
    const auto key = token_at(at.attention, given[1], Side::key);
    if (!key) return key.error();
    const auto weights = weights_of(at, *query);
    if (!weights) return weights.error();
    const double own = (*weights)[static_cast<std::size_t>(*key)];
    return Value(1.0 +
                 static_cast<double>(std::ranges::count_if(*weights, [&](double w) { return w > own; })));
}

// ---- Numbers of stages --------------------------------------------------------------------------------

Result<Value> of_stage(const Place& at, Stage stage, Values given) {
    const auto cell = stage_cell(at.attention, stage, given);
    if (!cell) return cell.error();
    const auto number = explained_number(at, *cell);
    if (!number) return number.error();
    return Value(*number);
}

Result<Value> norm_of(const Place& at, Values given) {
    const std::string* name = std::get_if<std::string>(given.data());
    const auto stage = name ? stage_called(*name) : std::nullopt;
    if (!stage || is_of_pairs(*stage))
        return Error{"A norm is of rows of a matrix, such as norm(\"k\", \"cat\")."};
    constexpr Index most_components = 100'000;
    double squares = 0;
    Index components = 0;
    for (; components < most_components; ++components) {
        const std::array<Value, 2> place{given[1], static_cast<double>(components)};
        const auto cell = stage_cell(at.attention, *stage, place);
        if (!cell) return cell.error();
        const auto why = at.subject.explain_at({at.head, *cell});
        if (!why) break;
        squares += why->f64 * why->f64;
    }
    if (components == 0) return Error{"This matrix has no such row."};
    return Value(std::sqrt(squares));
}

// A number of a lens, "softmax.weight".
Result<Value> of_lens(const Place& at, Values given) {
    const auto cell = lens_cell(at.attention, at.name, given);
    if (!cell) return cell.error();
    const std::string_view key = at.name.substr(0, at.name.find('.'));
    if (at.visit.state().lens != key)
        return Error{"This number is in the lens " + std::string(find_lens(key)->name) + "; open it."};
    const auto why = lens_in(at.visit, key).explain(at.subject, {at.subject.chosen_head(), *cell});
    if (!why || std::isnan(why->f64)) return Error{"It is not computed yet."};
    return Value(why->f64);
}

// ---- What is shown and chosen -------------------------------------------------------------------------

Value is_or_name(std::string_view now, Values given) {
    if (given.empty()) return std::string(now);
    const std::string* wanted = std::get_if<std::string>(given.data());
    return wanted != nullptr && *wanted == now;
}

Result<Value> is_pinned(const Place& at, Values given) {
    const auto& pin = at.visit.state().pin;
    if (given.empty() || !pin) return Value(pin.has_value());
    const std::string* name = std::get_if<std::string>(given.data());
    if (name == nullptr) return Error{"pinned begins with the name of a number, such as \"weight\"."};
    if (given.size() == 1) return Value(pin_kind(*pin) == *name || write_cell(*pin) == *name);
    if (name->find('.') != std::string::npos) {
        const auto cell = lens_cell(at.attention, *name, given.subspan(1));
        if (!cell) return cell.error();
        return Value(*pin == *cell);
    }
    const auto stage = stage_called(*name);
    if (!stage) return Error{"No number is called " + *name + "."};
    const auto cell = stage_cell(at.attention, *stage, given.subspan(1));
    if (!cell) return cell.error();
    const RunCell* run = pin->run();
    return Value(run != nullptr && run->stage == cell->stage && run->row == cell->row &&
                 run->col == cell->col);
}

Result<Value> is_named(const Place& at, Values given) {
    const std::string own = std::to_string(at.head.layer) + "." + std::to_string(at.head.head);
    if (given.empty()) return Value(own);
    const std::string* wanted = std::get_if<std::string>(given.data());
    if (wanted == nullptr) return Error{"head takes a text, \"4.7\" or \"induction\"."};
    if (*wanted == own) return Value(true);
    const NamedHeads* named = at.subject.named_heads();
    const auto role = role_called(*wanted);
    if (!role)
        return wanted->find('.') != std::string::npos
                   ? Result<Value>(false)
                   : Result<Value>(Error{"No role of a head is called " + *wanted + "."});
    return Value(named != nullptr && named->role(at.head) == role);
}

Result<Value> role_of(const Place& at, Values given) {
    const std::string* wanted = std::get_if<std::string>(given.data());
    const auto role = wanted ? role_called(*wanted) : std::nullopt;
    if (!role) return Error{"role takes the name of a role, such as \"induction\"."};
    const NamedHeads* named = at.subject.named_heads();
    if (named == nullptr || !named->table.has(at.head)) return Error{"The heads are not measured yet."};
    const double score = named->table.of(at.head)[*role];
    if (std::isnan(score)) return Error{"This role is not measured for this model."};
    return Value(score);
}

Result<Value> chosen_token(const std::optional<Index>& token, std::string_view what) {
    if (!token) return Error{"No " + std::string(what) + " is chosen."};
    return Value(static_cast<double>(*token));
}

Result<Value> of_training(const Place& at) {
    Learning* learning = at.subject.learning();
    if (learning == nullptr) return Error{"No network is in training here; open Training."};
    const TrainingRun* run = learning->runs().shown();
    const TrainingView* view = run ? learning->runs().shown_view(learning->course()) : nullptr;
    const std::int64_t step = view ? view->step : 0;
    if (at.name == "training_step") return Value(static_cast<double>(step));
    if (!run || step < 1 || step > std::ssize(run->losses())) return Error{"Nothing is trained yet."};
    return Value(static_cast<double>(run->losses()[static_cast<std::size_t>(step - 1)]));
}

Result<Value> of_what_is_shown(const Place& at) {
    if (at.name == "n") return Value(static_cast<double>(at.attention.queries()));
    if (at.name == "head_count") return Value(static_cast<double>(at.attention.heads()));
    if (at.name == "layer_count") return Value(static_cast<double>(at.attention.layers()));
    if (at.name == "layer") return Value(static_cast<double>(at.head.layer));
    const auto record = at.attention.record(at.head.layer);
    if (!record) return Error{"It is not computed yet."};
    return Value(static_cast<double>(record->d_k()));
}

// ---- The table ----------------------------------------------------------------------------------------

struct Known {
    std::string_view name;
    std::size_t least, most;  // arguments, without a head
    bool of_head;             // a head may follow
    Result<Value> (*find)(const Place&, Values);
};
constexpr Known table[] = {
    {"entropy", 1, 1, true, of_row},
    {"largest", 1, 1, true, of_row},
    {"argmax", 1, 1, true, of_row},
    {"argmax_position", 1, 1, true, of_row},
    {"norm", 2, 2, true, norm_of},
    {"p", 1, 1, false, [](const Place& p, Values v) { return predicted(p.visit, p.name, v[0]); }},
    {"logit", 1, 1, false, [](const Place& p, Values v) { return predicted(p.visit, p.name, v[0]); }},
    {"p_before", 1, 1, false, [](const Place& p, Values v) { return predicted(p.visit, p.name, v[0]); }},
    {"logit_before", 1, 1, false, [](const Place& p, Values v) { return predicted(p.visit, p.name, v[0]); }},
    {"top", 0, 0, false, [](const Place& p, Values) { return likeliest_token(p.visit); }},
    {"rank", 1, 2, true,
     [](const Place& p, Values v) {
         return v.size() == 2 ? rank_of_key(p, v) : predicted(p.visit, p.name, v[0]);
     }},
    {"loss", 0, 0, false, [](const Place& p, Values) { return of_training(p); }},
    {"training_step", 0, 0, false, [](const Place& p, Values) { return of_training(p); }},
    {"head", 0, 1, false, is_named},
    {"role", 1, 1, true, role_of},
    {"query", 0, 0, false,
     [](const Place& p, Values) -> Result<Value> {
         return Value(static_cast<double>(p.visit.state().selection.query.value_or(p.attention.predicted())));
     }},
    {"key", 0, 0, false,
     [](const Place& p, Values) { return chosen_token(p.visit.state().selection.key, "key"); }},
    {"word", 1, 1, false,
     [](const Place& p, Values v) -> Result<Value> {
         const auto at = token_at(p.attention, v[0], Side::query);
         if (!at) return at.error();
         return Value(query_in_words_alone(p.attention, *at));
     }},
    {"n", 0, 0, false, [](const Place& p, Values) { return of_what_is_shown(p); }},
    {"d", 0, 0, false, [](const Place& p, Values) { return of_what_is_shown(p); }},
    {"head_count", 0, 0, false, [](const Place& p, Values) { return of_what_is_shown(p); }},
    {"layer_count", 0, 0, false, [](const Place& p, Values) { return of_what_is_shown(p); }},
    {"layer", 0, 0, false, [](const Place& p, Values) { return of_what_is_shown(p); }},
    {"pinned", 0, 4, false, is_pinned},
};
// What can be said before there is any attention.
struct Early {
    std::string_view name;
    std::size_t least, most;
};
constexpr Early early[] = {{"lens", 0, 1},    {"subject", 0, 1},
                           {"seen", 1, 1},    {"unchanged", 1, lesson::any_number},
                           {"setting", 1, 1}, {"text", 0, 0}};

Result<Value> find_early(Visit& visit, const StepSoFar& step, std::string_view name, Values given) {
    const State& state = visit.state();
    if (name == "lens") return is_or_name(state.lens, given);
    if (name == "subject") return is_or_name(state.subject, given);
    if (name == "text") {
        const auto box = subject_in(visit).text_box();
        return Value(box ? box->text : std::string());
    }
    const std::string* what = std::get_if<std::string>(given.data());
    if (name == "seen") {
        if (what == nullptr) return Error{"seen takes a text, such as \"softmax\"."};
        return Value(step.seen.contains(*what));
    }
    if (name == "unchanged") {
        for (const Value& each : given) {
            const std::string* of = std::get_if<std::string>(&each);
            if (of == nullptr) return Error{"unchanged takes names, such as W_Q."};
            const auto same = unchanged(*of, step.start, state);
            if (!same) return same.error();
            if (!*same) return Value(false);
        }
        return Value(true);
    }
    if (what == nullptr || !is_link_key(*what)) return Error{"setting takes a key of a link, as text."};
    const auto values = link_values(state);
    const auto found = values.find(*what);
    const std::string text = found == values.end() ? "" : found->second;
    if (const auto number = read_number(text)) return Value(*number);
    return Value(text);
}

// Takes the head from the end of the arguments.
Result<HeadIndex> take_head(Subject& subject, Values& given, std::size_t least) {
    const HeadIndex chosen = subject.chosen_head();
    if (given.size() <= least) return chosen;
    const std::string* text = std::get_if<std::string>(&given.back());
    const auto head = text ? read_head(*text) : std::nullopt;
    if (!head) return Error{"A head is written as a text, \"4.7\": its layer and its number."};
    const HeadCount count = subject.head_count();
    if (head->layer >= count.layers.count || head->head >= count.heads)
        return Error{"No head is called " + *text + " here."};
    given = given.first(given.size() - 1);
    return *head;
}

Result<Value> find(Visit& visit, const StepSoFar& step, std::string_view name, Values given) {
    for (const Early& each : early)
        if (each.name == name) {
            if (given.size() < each.least || given.size() > each.most)
                return Error{std::string(name) + " has too few arguments, or too many."};
            return find_early(visit, step, name, given);
        }
    const auto stage = stage_called(name);
    // W_Q in unchanged(W_Q).
    if (given.empty() && (stage || is_link_key(name)) &&
        std::ranges::find(table, name, &Known::name) == std::end(table))
        return Value(std::string(name));
    Subject& subject = subject_in(visit);
    if (!subject.attention()) return Error{"There is no attention to look at yet."};
    const auto known = std::ranges::find(table, name, &Known::name);
    const bool is_of_lens = name.find('.') != std::string_view::npos;
    const std::size_t least = is_of_lens                          ? lesson::any_number
                              : known == std::end(table) || stage ? 2
                                                                  : known->most;
    const bool of_head = known == std::end(table) ? stage.has_value() : known->of_head;
    auto head = of_head ? take_head(subject, given, least) : Result<HeadIndex>(subject.chosen_head());
    if (!head) return head.error();
    Attention* attention = subject.attention_of(head->layer);
    if (!attention) return Error{"There is no attention to look at yet."};
    const Place at{visit, step, subject, *attention, *head, name};
    if (is_of_lens) return of_lens(at, given);
    if (known != std::end(table) && !(stage && given.size() == 2)) {
        if (given.size() < known->least || given.size() > known->most)
            return Error{std::string(name) + " has too few arguments, or too many."};
        return known->find(at, given);
    }
    if (!stage) return Error{"Nothing is called " + std::string(name) + "."};
    if (given.size() != 2) return Error{std::string(name) + " takes a row and a column."};
    return of_stage(at, *stage, given);
}

}  // namespace

std::span<const lesson::KnownName> known_names() {
    static const std::vector<lesson::KnownName> all = [] {
        std::vector<lesson::KnownName> names;
        for (const Known& each : table)
            names.push_back({each.name, each.least, each.most + (each.of_head ? 1 : 0)});
        for (const Early& each : early) names.push_back({each.name, each.least, each.most});
        for (const std::string_view name : stage_names()) {
            names.push_back({name, 2, 3});
            names.push_back({name, 0, 0});  // in unchanged(W_Q)
        }
        return names;
    }();
    return all;
}

void note_seen(const State& state, std::set<std::string, std::less<>>& seen) {
    seen.insert(std::string(state.lens));
    seen.insert(std::string(state.subject));
    seen.insert(std::to_string(state.selection.layer) + "." + std::to_string(state.selection.head));
    if (state.pin) {
        seen.insert(pin_kind(*state.pin));
        seen.insert(write_cell(*state.pin));
    }
}

lesson::Lookup numbers_of(Visit& visit, const StepSoFar& step) {
    return [&visit, &step](std::string_view name, Values given) { return find(visit, step, name, given); };
}

Result<bool> unchanged(std::string_view name, const State& before, const State& now) {
    if (!is_link_key(name)) return Error{"“" + std::string(name) + "” is no matrix, and no key of a link."};
    return LinkComparison(before, now).is_same(name);
}

}  // namespace attn::app::learn
