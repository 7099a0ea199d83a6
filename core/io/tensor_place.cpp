#include <algorithm>
#include <tuple>
#include <utility>

#include "io/tensor_matcher.hpp"

namespace attn {

// Chooses the element to show along each of the axes [from, to) of a tensor. Axes at the same distance from
// the end share one question.
Status Matcher::choose_elements(PlacedTensor& place, int from, int to) {
    const Shape& shape = tensor(place.tensor).shape;
    for (int axis = from; axis < to; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        if (shape[a] == 1) continue;
        if (shape[a] > 1024)
            return Error{shown(place.tensor) +
                         ": too many axes; Q, K and V are [rows, d] or [heads, rows, d], weights "
                         "[heads, queries, keys] or [layers, heads, queries, keys]"};
        std::vector<Choice> choices;
        for (Index i = 0; i < shape[a]; ++i) choices.push_back({std::to_string(i), std::to_string(i)});
        const auto from_end = std::ssize(shape) - axis;
        const auto answer = ask("element " + std::to_string(from_end) + " of " + std::to_string(shape[a]),
                                shown(place.tensor) + ": which of the " + std::to_string(shape[a]) +
                                    " along its axis " + std::to_string(axis) + " is to be shown?",
                                choices);
        if (!answer) continue;
        place.at[a] = std::ranges::find(choices, *answer, &Choice::answer) - choices.begin();
        std::string chosen =
            "number " + *answer + " of " + std::to_string(shape[a]) + " along axis " + std::to_string(axis);
        if (std::ranges::find(matched_.chosen, chosen) == matched_.chosen.end())
            matched_.chosen.push_back(std::move(chosen));
    }
    return ok();
}

Status Matcher::place_weights(const Subject& subject) {
    const std::size_t first_tensor = subject.weights.front();
    const Shape& shape = tensor(first_tensor).shape;
    AxisOrder order = AxisOrder::heads_first;
    if (const std::size_t rank = shape.size(); rank >= 3) {
        const Index a = shape[rank - 3], b = shape[rank - 2], c = shape[rank - 1];
        if (a == b && b != c) {
            const bool first = tokens_number(b, c), last = tokens_number(a, b);
            std::string answer = last ? "last" : "first";
            if (first == last)
                answer = ask("axes", shown(first_tensor) + ": which axis are the heads?",
                             {{"first", "the first: " + count_of(a, "heads of ") + count_of(b, "queries × ") +
                                            count_of(c, "keys")},
                              {"last", "the last: " + count_of(c, "heads of ") + count_of(a, "queries × ") +
                                           count_of(b, "keys")}})
                             .value_or(answer);
            if (answer == "last") order = AxisOrder::heads_last;
        }
    }
    const bool in_layers = subject.weights.size() > 1;
    for (std::size_t i : subject.weights) {
        PlacedTensor place = place_last_axes(i, shape, order);
        const int before = std::max(static_cast<int>(shape.size()) - 3, 0);
        const bool has_layers = before > 0 && !in_layers;
        if (has_layers) place.layer = 0;
        const std::size_t asked = questions_.size();
        if (Status status = choose_elements(place, has_layers ? 1 : 0, before); !status) return status;
        matched_.weights.push_back(std::move(place));
        if (questions_.size() > asked) break;  // the other layers would ask the same questions
    }
    const PlacedShape size = placed_shape(shape, matched_.weights.front());
    matched_.layers = in_layers ? std::ssize(subject.weights) : size.layers;
    matched_.heads = size.heads;
    matched_.queries = size.rows;
    matched_.keys = size.columns;
    return ok();
}

void Matcher::place_all(const Subject& subject, AxisOrder order) {
    for (const auto& [from, to] : {std::pair(&subject.q, &matched_.q), std::pair(&subject.k, &matched_.k),
                                   std::pair(&subject.v, &matched_.v)})
        if (*from) *to = place_last_axes(**from, tensor(**from).shape, order);
    for (auto* place : {&matched_.q, &matched_.k, &matched_.v})
        if (*place && tensor((*place)->tensor).shape.size() > 3) (*place)->layer = 0;
    const PlacedShape q = placed_shape(tensor(*subject.q).shape, *matched_.q);
    matched_.layers = q.layers;
    matched_.heads = q.heads;
    matched_.queries = q.rows;
    matched_.keys = placed_shape(tensor(*subject.k).shape, *matched_.k).rows;
}

// Checks whether Q, K and V, as they are placed, form an attention call.
Status Matcher::check_qkv() const {
    const auto size = [&](const PlacedTensor& p) { return placed_shape(tensor(p.tensor).shape, p); };
    const PlacedShape q = size(*matched_.q), k = size(*matched_.k);
    const auto wrong = [&](const PlacedTensor& a, const PlacedTensor& b, std::string_view what) {
        return Error{"these do not belong together: " + shown(a.tensor) + ", and " + shown(b.tensor) + ": " +
                     std::string(what)};
    };
    if (q.layers != k.layers) return wrong(*matched_.q, *matched_.k, "Q and K need as many layers");
    if (q.columns != k.columns)
        return wrong(*matched_.q, *matched_.k, "a query and a key need as many components");
    if (q.heads % k.heads != 0)
        return wrong(*matched_.q, *matched_.k, "the heads of Q need to be a multiple of those of K");
    if (!matched_.v) return ok();
    const PlacedShape v = size(*matched_.v);
    if (v.layers != k.layers) return wrong(*matched_.k, *matched_.v, "K and V need as many layers");
    if (v.rows != k.rows) return wrong(*matched_.k, *matched_.v, "every key needs a value");
    if (v.heads != k.heads) return wrong(*matched_.k, *matched_.v, "K and V need as many heads");
    return ok();
}

// Chooses the mask whose name matches Q's, or the only one.
void Matcher::choose_mask(std::size_t q) {
    const Places& masks = by_role_[static_cast<std::size_t>(Role::mask)];
    if (masks.empty()) return;
    Places own;
    std::ranges::copy_if(masks, std::back_inserter(own), [&](std::size_t i) {
        return names_[i].group == names_[q].group && container(i) == container(q);
    });
    std::optional<std::size_t> chosen;
    if (masks.size() == 1 || own.size() == 1) {
        chosen = own.size() == 1 ? own.front() : masks.front();
    } else {
        std::vector<Choice> choices;
        for (std::size_t i : masks) choices.push_back(choice(i));
        choices.push_back({"none", "there is none"});
        const auto answer = ask("mask", "Which of these is the mask?", choices);
        const auto place = std::ranges::find_if(masks, [&](std::size_t i) { return id(i) == answer; });
        if (place != masks.end()) chosen = *place;
    }
    if (!chosen) return;
    const Shape &shape = tensor(*chosen).shape, &of_q = tensor(q).shape;
    matched_.mask = place_last_axes(*chosen, shape, AxisOrder::heads_first);
    if (shape.size() > 3 && of_q.size() > 3 && shape[0] == of_q[0]) matched_.mask->layer = 0;
}

bool Matcher::mask_fits() const {
    if (!matched_.mask) return true;
    const PlacedShape m = placed_shape(tensor(matched_.mask->tensor).shape, *matched_.mask);
    return (m.heads == 1 || m.heads == matched_.heads) && (m.rows == 1 || m.rows == matched_.queries) &&
           m.columns == matched_.keys;
}

void Matcher::choose_mask_meaning() {
    if (!matched_.mask) return;
    const std::size_t mask = matched_.mask->tensor;
    const DType dtype = tensor(mask).dtype;
    std::vector<Choice> choices{{"allowed", "1 (true) lets a query look at the key"},
                                {"hidden", "1 (true) hides the key"}};
    if (dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64)
        choices.insert(choices.begin(), {"added", "it is added to the scores: 0, or −∞ to hide"});
    const auto answer = ask("mask meaning", shown(mask) + ": what do its numbers mean?", choices);
    matched_.mask_meaning = answer == "added"    ? MaskMeaning::added
                            : answer == "hidden" ? MaskMeaning::hidden
                                                 : MaskMeaning::allowed;
}

bool Matcher::tokens_number(Index queries, Index keys) const {
    return std::ranges::any_of(found_.tokens, [&](const FoundTokens& t) {
        return std::ssize(t.tokens) == queries || std::ssize(t.tokens) == keys;
    });
}

// Heads usually come first. If they may also be second, the order that fits wins, then the one that matches
// the number of tokens. If both are equal and there are at least as many heads as positions, the user is
// asked.
Status Matcher::place_qkv(const Subject& subject) {
    choose_mask(*subject.q);
    const auto fit = [&](AxisOrder order) {
        place_all(subject, order);
        const bool tokens = tokens_number(matched_.queries, matched_.keys);
        return std::tuple(static_cast<bool>(check_qkv()), mask_fits(), tokens);
    };
    const auto first = fit(AxisOrder::heads_first), second = fit(AxisOrder::heads_second);
    AxisOrder order = second > first ? AxisOrder::heads_second : AxisOrder::heads_first;
    if (first == second && std::get<0>(first)) {
        for (const auto& each : {subject.q, subject.k, subject.v}) {
            if (!each || tensor(*each).shape.size() < 3) continue;
            const Shape& shape = tensor(*each).shape;
            const Index a = shape[shape.size() - 3], b = shape[shape.size() - 2];
            if (a < b || a == 1) break;
            const auto answer =
                ask("axes", shown(*each) + ": which axis are the heads?",
                    {{"first", "the first: " + count_of(a, "heads of ") + count_of(b, "positions")},
                     {"second", "the second: " + count_of(b, "heads of ") + count_of(a, "positions")}});
            if (answer == "second") order = AxisOrder::heads_second;
            break;
        }
    }
    place_all(subject, order);
    if (Status status = check_qkv(); !status) return status;
    if (!mask_fits())
        return Error{shown(matched_.mask->tensor) + ": this mask does not fit " +
                     count_of(matched_.queries, "queries × ") + count_of(matched_.keys, "keys") + " of " +
                     count_of(matched_.heads, "heads") + "; drop one that does, or none"};
    choose_mask_meaning();
    for (auto* place : {&matched_.q, &matched_.k, &matched_.v, &matched_.mask}) {
        if (!*place) continue;
        const int before = static_cast<int>(tensor((*place)->tensor).shape.size()) - 3;
        const int from = (*place)->layer == 0 ? 1 : 0;
        if (Status status = choose_elements(**place, from, before); !status) return status;
    }
    return ok();
}

std::vector<std::string> Matcher::tokens_of(Role axis, Index count, const std::vector<std::string>& labels) {
    std::vector<const FoundTokens*> own, any;
    for (const FoundTokens& tokens : found_.tokens) {
        if (std::ssize(tokens.tokens) != count) continue;
        const auto role = read_name(tokens.file).role;
        if (role == axis) own.push_back(&tokens);
        if (role != Role::query && role != Role::key) any.push_back(&tokens);
    }
    const auto& fitting = own.empty() ? any : own;
    if (fitting.empty()) return std::ssize(labels) == count ? labels : std::vector<std::string>();
    const FoundTokens* chosen = fitting.front();
    if (fitting.size() > 1) {
        const std::string whose = axis == Role::query ? "queries" : "keys";
        std::vector<Choice> choices;
        for (const FoundTokens* tokens : fitting) choices.push_back({tokens->file, tokens->file});
        const auto answer = ask("tokens of " + whose, "Which file names the " + whose + "?", choices);
        if (answer) chosen = *std::ranges::find(fitting, *answer, &FoundTokens::file);
    }
    used_tokens_.insert(chosen);
    return chosen->tokens;
}

void Matcher::choose_tokens(const Subject& subject) {
    const bool finished = !subject.weights.empty();
    const FoundTensor& rows = tensor(finished ? subject.weights.front() : *subject.q);
    const FoundTensor& columns = tensor(finished ? subject.weights.front() : *subject.k);
    matched_.query_tokens = tokens_of(Role::query, matched_.queries, rows.row_labels);
    matched_.key_tokens =
        tokens_of(Role::key, matched_.keys, finished ? columns.column_labels : columns.row_labels);
}

void Matcher::add_notes() {
    constexpr std::size_t most_named = 8;
    matched_.notes = found_.notes;
    for (const FoundTokens& tokens : found_.tokens) {
        if (used_tokens_.contains(&tokens)) continue;
        const Index count = std::ssize(tokens.tokens);
        const bool others = !matched_.query_tokens.empty() || !matched_.key_tokens.empty();
        matched_.notes.push_back(count == matched_.queries || count == matched_.keys
                                     ? tokens.file + " is left out."
                                     : tokens.file + " has " + count_of(count, "tokens where there are ") +
                                           count_of(matched_.queries, "queries and ") +
                                           count_of(matched_.keys, "keys") +
                                           (others ? "; it is left out." : "; positions are shown instead."));
    }
    std::set<std::size_t> used;
    for (const PlacedTensor& place : matched_.weights) used.insert(place.tensor);
    for (const auto* place : {&matched_.q, &matched_.k, &matched_.v, &matched_.mask})
        if (*place) used.insert((*place)->tensor);
    const std::size_t left = found_.tensors.size() - used.size();
    if (left == 0) return;
    std::string text;
    std::size_t said = 0;
    for (std::size_t i = 0; i < found_.tensors.size() && said < most_named; ++i)
        if (!used.contains(i)) text += (said++ == 0 ? "Left out: " : "; ") + shown(i);
    matched_.notes.push_back(text + (left > said ? "; and " + std::to_string(left - said) + " more." : "."));
}

}  // namespace attn
