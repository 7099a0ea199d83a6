#include "io/tensor_match.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "io/tensor_names.hpp"

namespace attn {

namespace {

constexpr std::size_t most_rank = 8, most_tensors = 1024;

using Places = std::vector<std::size_t>;  // of FoundFiles::tensors

// What can be shown: finished weights, or Q and K.
struct Subject {
    std::string id, text;
    Places weights;
    std::optional<std::size_t> q, k, v;
};

// "8 queries × 9 keys" and its like.
std::string count_of(Index count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what);
}

class Matcher {
  public:
    Matcher(const FoundFiles& found, const Answers& answers) : found_(found), answers_(answers) {}

    Result<std::variant<Matched, std::vector<Question>>> run();

  private:
    // The answer, where there is one of these candidates; else the question is asked.
    std::optional<std::string> ask(std::string id, std::string text, std::vector<Candidate> candidates);
    Candidate candidate(std::size_t tensor) const { return {id(tensor), shown(tensor)}; }

    const FoundTensor& tensor(std::size_t i) const { return found_.tensors[i]; }
    std::string id(std::size_t i) const { return tensor(i).file + ":" + tensor(i).name; }
    std::string shown(std::size_t i) const;      // "q of run.npz, 12×64×64"
    std::string container(std::size_t i) const;  // of several tensors; "": a file of its own
    bool is_square(std::size_t i) const;

    Status sort_by_role();
    std::vector<Subject> named_subjects() const;
    void add_groups(std::vector<Subject>& subjects) const;
    void add_weights(std::vector<Subject>& subjects, const Places& tensors, bool named) const;
    Result<std::optional<Subject>> choose_subject();
    Result<std::optional<Subject>> choose_among_unnamed();
    Result<std::optional<Subject>> choose_each();

    Status choose_elements(PlacedTensor& place, int from, int to);
    Status place_weights(const Subject& subject);
    Status place_qkv(const Subject& subject);
    void place_all(const Subject& subject, AxisOrder order);
    Status check_qkv() const;
    void choose_mask(std::size_t q);
    bool mask_fits() const;
    void choose_mask_meaning();
    bool tokens_number(Index queries, Index keys) const;  // whether a tokens file has as many
    void choose_tokens(const Subject& subject);
    std::vector<std::string> tokens_of(Role axis, Index count, const std::vector<std::string>& labels);
    void add_notes();

    const FoundFiles& found_;
    const Answers& answers_;
    std::vector<NameParts> names_;
    std::map<std::string, int> in_file_;  // how many tensors a file holds
    std::array<Places, 5> by_role_;
    Places unnamed_;
    Matched matched_;
    std::set<const FoundTokens*> used_tokens_;
    std::vector<Question> questions_;
};

std::optional<std::string> Matcher::ask(std::string id, std::string text, std::vector<Candidate> candidates) {
    if (const auto answer = answers_.find(id); answer != answers_.end())
        if (std::ranges::find(candidates, answer->second, &Candidate::answer) != candidates.end())
            return answer->second;
    if (std::ranges::find(questions_, id, &Question::id) == questions_.end())
        questions_.push_back({std::move(id), std::move(text), std::move(candidates)});
    return std::nullopt;
}

std::string Matcher::shown(std::size_t i) const {
    const FoundTensor& t = tensor(i);
    return (container(i).empty() ? t.file : t.name + " of " + t.file) + ", " + to_string(t.shape);
}

std::string Matcher::container(std::size_t i) const {
    const std::string& file = tensor(i).file;
    return in_file_.at(file) > 1 ? file : std::string();
}

bool Matcher::is_square(std::size_t i) const {
    const Shape& shape = tensor(i).shape;
    return shape.size() >= 2 && shape.back() == shape[shape.size() - 2] && shape.back() > 1;
}

Status Matcher::sort_by_role() {
    if (found_.tensors.size() > most_tensors)
        return Error{"these files hold " + std::to_string(found_.tensors.size()) + " tensors; at most " +
                     std::to_string(most_tensors) +
                     " can be told apart here, so save only what is to be shown"};
    for (const FoundTensor& t : found_.tensors) ++in_file_[t.file];
    bool parameters = false;
    for (std::size_t i = 0; i < found_.tensors.size(); ++i) {
        const Shape& shape = tensor(i).shape;
        names_.push_back(read_name(tensor(i).name));
        parameters |= names_.back().parameter;
        const bool usable =
            !shape.empty() && shape.size() <= most_rank && std::ranges::find(shape, 0) == shape.end();
        if (!usable || names_.back().parameter) continue;
        const auto role = names_.back().role;
        if (shape.size() == 1 && role != Role::mask) continue;
        (role ? by_role_[static_cast<std::size_t>(*role)] : unnamed_).push_back(i);
    }
    const bool any =
        !unnamed_.empty() || std::ranges::any_of(by_role_, [](const Places& p) { return !p.empty(); });
    if (any) return ok();
    if (parameters)
        return Error{"these are the weights of a model (" + tensor(0).name +
                     "), not what a text makes of them; open the model with its config.json"};
    return Error{
        "these files hold no matrix; drop Q and K, or attention weights, as .npy, .npz, .safetensors or "
        ".csv"};
}

// Of what lies in several layers, those of each that has one Q and one K.
void Matcher::add_groups(std::vector<Subject>& subjects) const {
    const auto& [qs, ks, vs, masks, weights] = by_role_;
    const auto subject = [](std::string id, std::string text, std::size_t q, std::size_t k, const Places& v) {
        return Subject{
            std::move(id), std::move(text), {}, q, k, v.empty() ? std::nullopt : std::optional(v.front())};
    };
    if (qs.size() == 1 && ks.size() == 1 && vs.size() <= 1) {
        subjects.push_back(subject("qkv", "what Q and K make", qs.front(), ks.front(), vs));
        return;
    }
    for (std::size_t q : qs) {
        const auto alike = [&](const Places& places) {
            Places out;
            std::ranges::copy_if(places, std::back_inserter(out), [&](std::size_t i) {
                return names_[i].group == names_[q].group && container(i) == container(q);
            });
            return out;
        };
        const Places k = alike(ks), v = alike(vs);
        if (alike(qs).size() != 1 || k.size() != 1 || v.size() > 1) continue;
        const std::string where = container(q).empty() ? "" : " of " + container(q);
        const std::string text = "what Q and K" + where + " make: " + names_[q].group;
        subjects.push_back(subject("qkv:" + container(q) + ":" + names_[q].group, text, q, k.front(), v));
    }
}

// Each alone, or, where they differ in one number, together as layers.
void Matcher::add_weights(std::vector<Subject>& subjects, const Places& tensors, bool named) const {
    constexpr std::array layer_words{"layer", "layers", "block", "blocks",    "l",          "h",      "arr",
                                     "attn",  "attns",  "att",   "attention", "attentions", "weights"};
    std::map<std::tuple<std::string, std::string, Shape, DType>, std::map<int, std::size_t>> alike;
    for (std::size_t i : tensors)
        if (const NumberedName name = last_number(tensor(i).name); name.number >= 0)
            alike[{container(i), name.pattern, tensor(i).shape, tensor(i).dtype}].emplace(name.number, i);
    std::set<std::size_t> together;
    for (const auto& [key, layers] : alike) {
        if (layers.size() < 2) continue;
        Places places;
        for (const auto& [number, i] : layers) places.push_back(i);
        subjects.push_back(
            {"layers:" + std::get<0>(key) + ":" + std::get<1>(key),
             count_of(std::ssize(places), "layers of attention weights: " + shown(places.front()) + " to " +
                                              shown(places.back())),
             places,
             {},
             {},
             {}});
        const std::string word = last_number(tensor(places.front()).name).word;
        if (named && std::ranges::find(layer_words, word) != layer_words.end())
            together.insert(places.begin(), places.end());
    }
    for (std::size_t i : tensors)
        if (!together.contains(i))
            subjects.push_back({"weights:" + id(i), "attention weights: " + shown(i), {i}, {}, {}, {}});
}

Result<std::optional<Subject>> Matcher::choose_subject() {
    std::vector<Subject> subjects;
    add_groups(subjects);
    add_weights(subjects, by_role_[static_cast<std::size_t>(Role::weights)], true);
    if (subjects.empty()) return choose_among_unnamed();
    if (subjects.size() == 1) return std::optional(subjects.front());
    std::vector<Candidate> candidates;
    for (const Subject& subject : subjects) candidates.push_back({subject.id, subject.text});
    const auto answer = ask("what", "Which of these is to be shown?", candidates);
    if (!answer) return std::optional<Subject>();
    return std::optional(*std::ranges::find(subjects, *answer, &Subject::id));
}

// By shape: square ones may be weights, two that agree in their last axis Q and K.
Result<std::optional<Subject>> Matcher::choose_among_unnamed() {
    for (Role role : {Role::query, Role::key, Role::value})
        if (!by_role_[static_cast<std::size_t>(role)].empty()) return choose_each();

    Places squares;
    std::ranges::copy_if(unnamed_, std::back_inserter(squares), [&](std::size_t i) { return is_square(i); });
    std::vector<Subject> subjects;
    add_weights(subjects, unnamed_.size() == 1 ? unnamed_ : squares, false);
    const bool pair = std::ranges::any_of(unnamed_, [&](std::size_t i) {
        return std::ranges::any_of(unnamed_, [&](std::size_t j) {
            return i < j && tensor(i).shape.back() == tensor(j).shape.back();
        });
    });
    if (subjects.size() == 1 && !pair && !squares.empty()) return std::optional(subjects.front());
    std::vector<Candidate> candidates;
    for (const Subject& subject : subjects) candidates.push_back({subject.id, subject.text});
    if (pair) candidates.push_back({"qkv", "what Q and K make, which are among these"});
    if (candidates.empty())
        return Error{
            "none of these tensors can be Q and K or attention weights; call them q and k, or attention"};
    const auto answer =
        ask("what", "The names do not say what these tensors are: what is to be shown?", candidates);
    if (!answer) return std::optional<Subject>();
    if (*answer == "qkv") return choose_each();
    return std::optional(*std::ranges::find(subjects, *answer, &Subject::id));
}

// Q, K and V one by one: those that a name gives, else those that have no name.
Result<std::optional<Subject>> Matcher::choose_each() {
    Subject subject{"qkv", "", {}, {}, {}, {}};
    Places taken;
    for (const auto& [role, place] : {std::pair(Role::query, &subject.q), std::pair(Role::key, &subject.k),
                                      std::pair(Role::value, &subject.v)}) {
        const Places& named = by_role_[static_cast<std::size_t>(role)];
        Places choice = named.empty() ? unnamed_ : named;
        std::erase_if(choice, [&](std::size_t i) { return std::ranges::find(taken, i) != taken.end(); });
        const bool needed = role != Role::value;
        if (choice.empty() && needed)
            return Error{std::string(to_string(role)) +
                         " is missing: drop Q and K, or finished attention weights"};
        if (choice.empty()) continue;
        std::optional<std::size_t> chosen = choice.front();
        if (named.size() != 1) {
            std::vector<Candidate> candidates;
            for (std::size_t i : choice) candidates.push_back(candidate(i));
            if (!needed) candidates.push_back({"none", "there is none"});
            const std::string letter(to_string(role));
            const auto answer = ask(letter, "Which of these is " + letter + "?", candidates);
            if (!answer) continue;
            const auto found = std::ranges::find_if(choice, [&](std::size_t i) { return id(i) == answer; });
            chosen = found == choice.end() ? std::nullopt : std::optional(*found);
        }
        *place = chosen;
        if (chosen) taken.push_back(*chosen);
    }
    return questions_.empty() ? std::optional(subject) : std::nullopt;
}

// Of the axes [from, to) of a tensor, which element is shown; axes that lie as far from the end are asked about once.
Status Matcher::choose_elements(PlacedTensor& place, int from, int to) {
    const Shape& shape = tensor(place.tensor).shape;
    for (int axis = from; axis < to; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        if (shape[a] == 1) continue;
        if (shape[a] > 1024)
            return Error{shown(place.tensor) +
                         ": too many axes; Q, K and V are [rows, d] or [heads, rows, d], weights "
                         "[heads, queries, keys] or [layers, heads, queries, keys]"};
        std::vector<Candidate> candidates;
        for (Index i = 0; i < shape[a]; ++i) candidates.push_back({std::to_string(i), std::to_string(i)});
        const auto from_end = std::ssize(shape) - axis;
        const auto answer = ask("element " + std::to_string(from_end) + " of " + std::to_string(shape[a]),
                                shown(place.tensor) + ": which of the " + std::to_string(shape[a]) +
                                    " along its axis " + std::to_string(axis) + " is to be shown?",
                                candidates);
        if (answer)
            place.at[a] = std::ranges::find(candidates, *answer, &Candidate::answer) - candidates.begin();
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
                             {{"first",
                               count_of(a, "heads of ") + count_of(b, "queries × ") + count_of(c, "keys")},
                              {"last",
                               count_of(c, "heads of ") + count_of(a, "queries × ") + count_of(b, "keys")}})
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
        if (questions_.size() > asked) break;  // the others ask the same
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
    const PlacedShape q = placed_shape(tensor(*subject.q).shape, *matched_.q);
    matched_.heads = q.heads;
    matched_.queries = q.rows;
    matched_.keys = placed_shape(tensor(*subject.k).shape, *matched_.k).rows;
}

// Whether Q, K and V as they are placed make an attention call.
Status Matcher::check_qkv() const {
    const auto size = [&](const PlacedTensor& p) { return placed_shape(tensor(p.tensor).shape, p); };
    const PlacedShape q = size(*matched_.q), k = size(*matched_.k);
    const auto wrong = [&](const PlacedTensor& a, const PlacedTensor& b, std::string_view what) {
        return Error{"these do not belong together: " + shown(a.tensor) + ", and " + shown(b.tensor) + ": " +
                     std::string(what)};
    };
    if (q.columns != k.columns)
        return wrong(*matched_.q, *matched_.k, "a query and a key need as many components");
    if (q.heads % k.heads != 0)
        return wrong(*matched_.q, *matched_.k, "the heads of Q need to be a multiple of those of K");
    if (!matched_.v) return ok();
    const PlacedShape v = size(*matched_.v);
    if (v.rows != k.rows) return wrong(*matched_.k, *matched_.v, "every key needs a value");
    if (v.heads != k.heads) return wrong(*matched_.k, *matched_.v, "K and V need as many heads");
    return ok();
}

// The mask whose name belongs to Q's, or the only one.
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
        std::vector<Candidate> candidates;
        for (std::size_t i : masks) candidates.push_back(candidate(i));
        candidates.push_back({"none", "there is none"});
        const auto answer = ask("mask", "Which of these is the mask?", candidates);
        const auto place = std::ranges::find_if(masks, [&](std::size_t i) { return id(i) == answer; });
        if (place != masks.end()) chosen = *place;
    }
    if (chosen) matched_.mask = place_last_axes(*chosen, tensor(*chosen).shape, AxisOrder::heads_first);
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
    std::vector<Candidate> candidates{{"allowed", "1 (true) lets a query look at the key"},
                                      {"hidden", "1 (true) hides the key"}};
    if (dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64)
        candidates.insert(candidates.begin(), {"added", "it is added to the scores: 0, or −∞ to hide"});
    const auto answer = ask("mask meaning", shown(mask) + ": what do its numbers mean?", candidates);
    matched_.mask_meaning = answer == "added"    ? MaskMeaning::added
                            : answer == "hidden" ? MaskMeaning::hidden
                                                 : MaskMeaning::allowed;
}

bool Matcher::tokens_number(Index queries, Index keys) const {
    return std::ranges::any_of(found_.tokens, [&](const FoundTokens& t) {
        return std::ssize(t.tokens) == queries || std::ssize(t.tokens) == keys;
    });
}

// Heads come first as a rule. Where they may stand second as well, what fits decides, then the number of tokens; where
// neither does, and there would be no fewer heads than positions, it is asked.
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
            const auto answer = ask("axes", shown(*each) + ": which axis are the heads?",
                                    {{"first", count_of(a, "heads of ") + count_of(b, "positions")},
                                     {"second", count_of(b, "heads of ") + count_of(a, "positions")}});
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
        if (Status status = choose_elements(**place, 0, before); !status) return status;
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
        std::vector<Candidate> candidates;
        for (const FoundTokens* tokens : fitting) candidates.push_back({tokens->file, tokens->file});
        const auto answer = ask("tokens of " + whose, "Which file names the " + whose + "?", candidates);
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

Result<std::variant<Matched, std::vector<Question>>> Matcher::run() {
    using Match = std::variant<Matched, std::vector<Question>>;
    if (Status status = sort_by_role(); !status) return status.error();
    const auto subject = choose_subject();
    if (!subject) return subject.error();
    if (*subject) {
        const Status status = (*subject)->weights.empty() ? place_qkv(**subject) : place_weights(**subject);
        if (!status) return status.error();
        choose_tokens(**subject);
    }
    if (!questions_.empty()) return Match(std::move(questions_));
    add_notes();
    return Match(std::move(matched_));
}

}  // namespace

Result<std::variant<Matched, std::vector<Question>>> match(const FoundFiles& found, const Answers& answers) {
    return Matcher(found, answers).run();
}

}  // namespace attn
