#include "io/tensor_match.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "io/quote.hpp"
#include "io/tensor_matcher.hpp"

namespace attn {

namespace {

constexpr std::size_t most_rank = 8, most_tensors = 1024;

}  // namespace

std::optional<std::string> Matcher::ask(std::string id, std::string text, std::vector<Choice> choices) {
    if (const auto answer = answers_.find(id); answer != answers_.end())
        if (std::ranges::find(choices, answer->second, &Choice::answer) != choices.end())
            return answer->second;
    if (std::ranges::find(questions_, id, &Question::id) == questions_.end())
        questions_.push_back({std::move(id), std::move(text), std::move(choices)});
    return std::nullopt;
}

std::string Matcher::shown(std::size_t i) const {
    const FoundTensor& t = tensor(i);
    return (container(i).empty() ? t.file : quote(t.name) + " of " + t.file) + ", " + to_string(t.shape);
}

std::string Matcher::container(std::size_t i) const {
    const std::string& file = tensor(i).file;
    return in_file_.at(file) > 1 ? file : std::string();
}

bool Matcher::is_square(std::size_t i) const {
    const Shape& shape = tensor(i).shape;
    return shape.size() >= 2 && shape.back() == shape[shape.size() - 2] && shape.back() > 1;
}

// Mentions a file that could not be read, since that may be what is missing.
Error Matcher::missing(std::string what) const {
    return Error{std::move(what) + (found_.notes.empty() ? "" : " (" + found_.notes.front() + ")")};
}

Status Matcher::sort_by_role() {
    if (found_.tensors.size() > most_tensors)
        return Error{"these files hold " + std::to_string(found_.tensors.size()) + " tensors; at most " +
                     std::to_string(most_tensors) +
                     " can be told apart here, so save only what is to be shown"};
    for (const FoundTensor& t : found_.tensors) ++in_file_[t.file];
    std::optional<std::size_t> parameter, hollow;
    for (std::size_t i = 0; i < found_.tensors.size(); ++i) {
        const Shape& shape = tensor(i).shape;
        names_.push_back(read_name(tensor(i).name));
        if (names_.back().parameter) parameter = i;
        const bool usable =
            !shape.empty() && shape.size() <= most_rank && std::ranges::find(shape, 0) == shape.end();
        if (shape.size() > 1 && std::ranges::find(shape, 0) != shape.end()) hollow = i;
        if (!usable || names_.back().parameter) continue;
        const auto role = names_.back().role;
        if (shape.size() == 1 && role != Role::mask) continue;
        (role ? by_role_[static_cast<std::size_t>(*role)] : unnamed_).push_back(i);
    }
    const bool any =
        !unnamed_.empty() || std::ranges::any_of(by_role_, [](const Places& p) { return !p.empty(); });
    if (any) return ok();
    if (parameter)
        return Error{"these are the weights of a model (" + quote(tensor(*parameter).name) +
                     "), not what a text makes of them; open the model with its config.json"};
    if (hollow)
        return missing(quote(tensor(*hollow).name) + " is " + to_string(tensor(*hollow).shape) +
                       " and holds no numbers; none of its axes may be 0");
    return missing(
        "these files hold no matrix; drop Q and K, or attention weights, as .npy, .npz, .safetensors or "
        ".csv");
}

// If there are several layers, adds those that have exactly one Q and one K.
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
        const std::string which = names_[q].group.empty() ? "" : ": " + quote(names_[q].group);
        const std::string text = "what Q and K" + where + " make" + which;
        subjects.push_back(subject("qkv:" + container(q) + ":" + names_[q].group, text, q, k.front(), v));
    }
}

// Adds each tensor alone, or those that differ only in one number together, as layers.
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
    std::vector<Choice> choices;
    for (const Subject& subject : subjects) choices.push_back({subject.id, subject.text});
    const auto answer = ask("what", "Which of these is to be shown?", choices);
    if (!answer) return std::optional<Subject>();
    return std::optional(*std::ranges::find(subjects, *answer, &Subject::id));
}

// Goes by shape: square tensors may be weights, and two that agree in their last axis may be Q and K.
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
    std::vector<Choice> choices;
    for (const Subject& subject : subjects) choices.push_back({subject.id, subject.text});
    if (pair) choices.push_back({"qkv", "what Q and K make, which are among these"});
    if (choices.empty())
        return Error{
            "none of these tensors can be Q and K or attention weights; call them q and k, or attention"};
    const auto answer =
        ask("what", "The names do not say what these tensors are: what is to be shown?", choices);
    if (!answer) return std::optional<Subject>();
    if (*answer == "qkv") return choose_each();
    return std::optional(*std::ranges::find(subjects, *answer, &Subject::id));
}

// Chooses Q, K and V one by one, among the tensors with such a name or, if there are none, among the unnamed
// ones.
Result<std::optional<Subject>> Matcher::choose_each() {
    Subject subject{"qkv", "", {}, {}, {}, {}};
    Places taken;
    for (const auto& [role, place] : {std::pair(Role::query, &subject.q), std::pair(Role::key, &subject.k),
                                      std::pair(Role::value, &subject.v)}) {
        const Places& named = by_role_[static_cast<std::size_t>(role)];
        Places open = named.empty() ? unnamed_ : named;
        std::erase_if(open, [&](std::size_t i) { return std::ranges::find(taken, i) != taken.end(); });
        const bool needed = role != Role::value;
        if (open.empty() && needed)
            return missing(std::string(to_string(role)) +
                           " is missing: drop Q and K, or finished attention weights");
        if (open.empty()) continue;
        std::optional<std::size_t> chosen = open.front();
        if (named.size() != 1) {
            std::vector<Choice> choices;
            for (std::size_t i : open) choices.push_back(choice(i));
            if (!needed) choices.push_back({"none", "there is none"});
            const std::string letter(to_string(role));
            const auto answer = ask(letter, "Which of these is " + letter + "?", choices);
            if (!answer) continue;
            const auto found = std::ranges::find_if(open, [&](std::size_t i) { return id(i) == answer; });
            chosen = found == open.end() ? std::nullopt : std::optional(*found);
        }
        *place = chosen;
        if (chosen) taken.push_back(*chosen);
    }
    return questions_.empty() ? std::optional(subject) : std::nullopt;
}

Result<std::variant<Matched, std::vector<Question>>> Matcher::run() {
    using Match = std::variant<Matched, std::vector<Question>>;
    if (Status status = sort_by_role(); !status) return status.error();
    const auto subject = choose_subject();
    if (!subject) return subject.error();
    lacks_ = false;
    if (*subject) {
        const Status status = (*subject)->weights.empty() ? place_qkv(**subject) : place_weights(**subject);
        if (!status) return status.error();
        choose_tokens(**subject);
    }
    if (!questions_.empty()) return Match(std::move(questions_));
    add_notes();
    return Match(std::move(matched_));
}

Result<std::variant<Matched, std::vector<Question>>> match(const FoundFiles& found, const Answers& answers,
                                                           bool* lacks) {
    Matcher matcher(found, answers);
    auto result = matcher.run();
    if (lacks) *lacks = !result && matcher.lacks();
    return result;
}

}  // namespace attn
