#include "subjects/sentence/changes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "model/trace.hpp"
#include "subjects/sentence/direction.hpp"
#include "subjects/sentence/state.hpp"

namespace attn::app {

namespace {

// The operations that a user can choose, and how links spell them.
constexpr std::array<std::pair<Operation, std::string_view>, 7> operation_keys{
    {{Operation::zero, "zero"},
     {Operation::scale, "scale"},
     {Operation::add, "add"},
     {Operation::set, "set"},
     {Operation::mean, "mean"},
     {Operation::mean_of_texts, "mean_of_texts"},
     {Operation::patch, "patch"}}};

const std::pair<Operation, std::string_view>* entry_of(Operation operation) {
    const auto found =
        std::ranges::find(operation_keys, operation, [](const auto& each) { return each.first; });
    return found == operation_keys.end() ? nullptr : &*found;
}
const std::pair<Operation, std::string_view>* entry_of(std::string_view key) {
    const auto found = std::ranges::find(operation_keys, key, [](const auto& each) { return each.second; });
    return found == operation_keys.end() ? nullptr : &*found;
}

bool has_value(Operation operation) {
    return operation == Operation::scale || operation == Operation::add || operation == Operation::set;
}

Status check(const RunChange& change) {
    const auto within = [](const std::optional<Index>& at) {
        return !at || (*at >= 0 && *at < position_limit);
    };
    if (!within(change.at.attention) || !within(change.at.head) || !within(change.at.row) ||
        !within(change.at.column))
        return Error{"Choose a number of the run; this one does not exist."};
    if (!entry_of(change.operation)) return Error{"Choose one of the ways to change a run."};
    if (!is_of_heads(change.at.site) && change.at.head)
        return Error{"The " + std::string(info(change.at.site).name) + " is of all heads together."};
    if (change.at.site == Site::mask && change.operation != Operation::zero &&
        !(change.operation == Operation::set && (change.value == 0 || change.value == 1)))
        return Error{"A mask hides a key or shows it: it can be set to 0 or 1."};
    if (is_of_cells(change.at.site) && change.operation == Operation::mean_of_texts)
        return Error{"Scores, masks and weights of texts of different lengths have no mean."};
    if (!has_value(change.operation) && change.value != 0)
        return Error{"Nothing is to be set by this change of a run."};
    const auto sound = [](double value) { return std::abs(value) <= largest_change; };
    if (!sound(change.value) || !std::ranges::all_of(change.values, sound))
        return Error{"A number can be changed to one between −1e9 and 1e9."};
    if (!change.values.empty() && (change.operation != Operation::add || is_of_cells(change.at.site) ||
                                   !change.at.row || change.at.column || change.value != 0))
        return Error{"Several numbers are added to one vector."};
    return change.direction ? check_direction(change) : ok();
}

// Says whether the softmax reads this stage, apart from masked cells.
bool is_score(Stage stage, const AttentionSpec& spec) {
    if (stage == Stage::masked) return true;
    return spec.bias.empty() && stage == (spec.softcap > 0 ? Stage::capped : Stage::scaled);
}

// A comparison with the unchanged run ends with the last change.
void settle(SentenceState& sentence) {
    if (!sentence.changes.any_on()) sentence.changes.before = false;
    if (sentence.compared && sentence.compared->before && !sentence.changes.any_on())
        sentence.compared.reset();
}

std::string operation_told(const RunChange& change) {
    std::string value = shortest(change.value);
    switch (change.operation) {
        case Operation::zero: return change.at.site == Site::mask ? "hidden" : "0";
        case Operation::scale: return "× " + value;
        case Operation::add: {
            if (change.values.empty())
                return change.value < 0 ? "− " + shortest(-change.value) : "+ " + value;
            double squares = 0;
            for (const double each : change.values) squares += each * each;
            return "+ a vector of length " + rounded(std::sqrt(squares), 3);
        }
        case Operation::set: return value;
        case Operation::mean:
            return is_of_cells(change.at.site) ? "the same for all keys" : "mean of all tokens";
        case Operation::patch: return "as in the other text";
        case Operation::mean_of_texts: break;
    }
    return "mean over many texts";
}

}  // namespace

bool RunChanges::any_on() const { return std::ranges::any_of(all, &RunChange::on); }

Status ChangeRun::apply(State& state) const {
    if (const Status sound = check(change); !sound) return sound;
    SentenceState& sentence = state.edit<SentenceState>();
    std::vector<RunChange>& all = sentence.changes.all;
    const auto same = std::ranges::find_if(all, [&](const RunChange& each) { return each.at == change.at; });
    if (instead_of && *instead_of >= all.size())
        return Error{"Choose one of the changes listed; this one does not exist."};
    if (same != all.end()) {
        *same = change;
        if (const auto other = instead_of ? all.begin() + static_cast<std::ptrdiff_t>(*instead_of) : same;
            other != same)
            all.erase(other);
    } else if (instead_of) {
        all[*instead_of] = change;
    } else {
        if (all.size() == most_changes)
            return Error{"A run takes " + std::to_string(most_changes) +
                         " changes at a time. Take one back first."};
        all.push_back(change);
    }
    sentence.changes.before = false;
    settle(sentence);
    return ok();
}
std::string ChangeRun::describe(const State&) const { return told(change, {position_limit}); }

Status SwitchChange::apply(State& state) const {
    SentenceState& sentence = state.edit<SentenceState>();
    if (index >= sentence.changes.all.size())
        return Error{"Choose one of the changes listed; this one does not exist."};
    bool& on = sentence.changes.all[index].on;
    on = !on;
    settle(sentence);
    return ok();
}
std::string SwitchChange::describe(const State& before) const {
    const std::vector<RunChange>& all = sentence_of(before).changes.all;
    return index < all.size() && all[index].on ? "a change switched off" : "a change switched on";
}

Status DropChange::apply(State& state) const {
    SentenceState& sentence = state.edit<SentenceState>();
    std::vector<RunChange>& all = sentence.changes.all;
    if (index && *index >= all.size())
        return Error{"Choose one of the changes listed; this one does not exist."};
    if (index)
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(*index));
    else
        all.clear();
    settle(sentence);
    return ok();
}
std::string DropChange::describe(const State&) const {
    return index ? "a change taken back" : "all changes taken back";
}

Status ShowBefore::apply(State& state) const {
    RunChanges& changes = state.edit<SentenceState>().changes;
    if (before && !changes.any_on()) return Error{"Nothing in this run is changed."};
    changes.before = before;
    return ok();
}
std::string ShowBefore::describe(const State&) const {
    return before ? "the run before its changes" : "the changed run";
}

std::string told(const RunChange& change, const Layers& layers, const std::string& token) {
    if (change.direction) return steering_told(change, layers, token);
    std::string text =
        change.at.site == Site::head_output ? "output" : std::string(info(change.at.site).name);
    if (change.at.head) text += " of head " + std::to_string(*change.at.head);
    text += " in " + layers.name(change.at.attention);
    if (change.at.row)
        text += std::string(is_of_cells(change.at.site) ? ", query " : ", token ") +
                std::to_string(*change.at.row);
    if (change.at.column)
        text += std::string(is_of_cells(change.at.site) ? ", key " : ", component ") +
                std::to_string(*change.at.column);
    return text + ": " + operation_told(change);
}

// ---- Links ------------------------------------------------------------------------------------------------

std::string write_changes(const std::vector<RunChange>& changes) {
    std::string text;
    const auto number = [](const std::optional<Index>& at) { return at ? std::to_string(*at) : ""; };
    for (const RunChange& each : changes) {
        if (!text.empty()) text += ";";
        text += std::string(info(each.at.site).key) + "," + std::to_string(each.at.attention) + "," +
                number(each.at.head) + "," + number(each.at.row) + "," + number(each.at.column) + "," +
                std::string(entry_of(each.operation)->second);
        if (has_value(each.operation)) text += ",";
        for (const float value : each.values) text += "_" + shortest(value);
        if (has_value(each.operation) && each.values.empty()) text += shortest(each.value);
        if (each.direction) text += "," + write_direction(*each.direction);
        if (!each.on) text += ",off";
    }
    return text;
}

std::optional<std::vector<RunChange>> read_changes(std::string_view text) {
    std::vector<RunChange> changes;
    for (const std::string_view part : split(text, ';')) {
        auto fields = split(part, ',');
        RunChange change;
        if (!fields.empty() && fields.back() == "off") {
            change.on = false;
            fields.pop_back();
        }
        if (fields.size() < 6) return std::nullopt;
        const auto site = site_by_key(fields[0]);
        const auto layer = read_integer<Index>(fields[1]);
        const auto* operation = entry_of(fields[5]);
        if (!site || !layer || !operation) return std::nullopt;
        change.at.site = *site;
        change.at.attention = *layer;
        change.operation = operation->first;
        const std::array places{&change.at.head, &change.at.row, &change.at.column};
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (fields[2 + i].empty()) continue;
            *places[i] = read_integer<Index>(fields[2 + i]);
            if (!*places[i]) return std::nullopt;
        }
        if (fields.size() == 8) {
            change.direction = read_direction(fields.back());
            if (!change.direction) return std::nullopt;
            fields.pop_back();
        }
        if (fields.size() != (has_value(change.operation) ? 7u : 6u)) return std::nullopt;
        if (fields.size() == 7) {
            const bool several = fields[6].starts_with('_');
            const auto numbers = several ? split(fields[6].substr(1), '_') : std::vector{fields[6]};
            for (const std::string_view number : numbers) {
                const auto value = read_number(number);
                if (!value) return std::nullopt;
                if (several)
                    change.values.push_back(static_cast<float>(*value));
                else
                    change.value = *value;
            }
        }
        const bool twice =
            std::ranges::any_of(changes, [&](const RunChange& each) { return each.at == change.at; });
        if (!check(change) || twice || changes.size() == most_changes) return std::nullopt;
        changes.push_back(change);
    }
    return changes;
}

// ---- Runs -------------------------------------------------------------------------------------------------

bool fits(const RunChange& change, const Trace& run, const OtherRuns& others) {
    if (change.at.attention >= run.attentions()) return false;
    const SiteExtent all = extent_of(run, change.at.attention, change.at.site);
    if ((change.at.head && *change.at.head >= all.heads) || (change.at.row && *change.at.row >= all.rows) ||
        (change.at.column && *change.at.column >= all.columns) ||
        (!change.values.empty() && std::ssize(change.values) != all.columns))
        return false;
    if (change.direction) {
        const Status has = check_steering(steering_of(change), run, others.for_steering());
        return static_cast<bool>(has);
    }
    if (change.operation == Operation::mean_of_texts) return !others.texts.empty();
    if (change.operation != Operation::patch) return true;
    if (!others.beside) return false;
    const SiteExtent other = extent_of(*others.beside, change.at.attention, change.at.site);
    return !(change.at.row && *change.at.row >= other.rows) &&
           !(is_of_cells(change.at.site) && (other.rows != all.rows || other.columns != all.columns));
}

std::vector<Intervention> interventions_of(const std::vector<RunChange>& changes, const Trace& run,
                                           const OtherRuns& others) {
    std::vector<Intervention> all;
    const auto list = [](const std::optional<Index>& at) {
        return at ? std::vector<Index>{*at} : std::vector<Index>{};
    };
    for (const RunChange& each : changes) {
        if (!each.on || !fits(each, run, others)) continue;
        if (each.direction) {
            const Steering steering = steering_of(each);
            if (const auto vector = steering_vector(steering, run, others.for_steering()))
                all.push_back(intervention_of(steering, *vector));
            continue;
        }
        Intervention& made = all.emplace_back(Intervention{each.at.attention,
                                                           each.at.site,
                                                           {.head = each.at.head,
                                                            .rows = list(each.at.row),
                                                            .columns = list(each.at.column),
                                                            .operation = each.operation}});
        if (!each.values.empty())
            made.edit.values = each.values;
        else if (has_value(each.operation))
            made.edit.values = {static_cast<float>(each.value)};
        if (each.operation == Operation::mean_of_texts) made.from = others.texts;
        if (each.operation != Operation::patch) continue;
        made.from = {others.beside};
        // For texts of different lengths, only the tokens that both have are patched.
        const Index own = extent_of(run, each.at.attention, each.at.site).rows,
                    there = extent_of(*others.beside, each.at.attention, each.at.site).rows;
        if (own != there && !each.at.row)
            for (Index row = 0; row < std::min(own, there); ++row) made.edit.rows.push_back(row);
        if (own != there) made.edit.from_rows = made.edit.rows;
    }
    return all;
}

std::optional<RunChange> change_at(const Trace& run, const CellPlace& place) {
    if (!place.cell.run()) return std::nullopt;
    const RunCell& cell = *place.cell.run();
    if (cell.is_merged() || cell.second || place.head.layer >= run.attentions()) return std::nullopt;
    const LayerAttention attention = run.attention(place.head.layer);
    const Record& record = attention.record();
    RunChange change{.at = {.attention = place.head.layer, .row = cell.row, .column = cell.col}};
    const auto of_head = [&](Site site, Index head) {
        change.at.site = site;
        change.at.head = head;
        return change;
    };
    const auto of_block = [&](Site site) {
        change.at.site = site;
        return change;
    };
    const Index head = place.head.head, kv_head = record.kv_head(head);
    if (is_score(cell.stage, record.spec())) return of_head(Site::score, head);
    switch (cell.stage) {
        case Stage::q: return of_head(Site::q, head);
        case Stage::k: return of_head(Site::k, kv_head);
        case Stage::v: return of_head(Site::v, kv_head);
        case Stage::weight: return of_head(Site::weight, head);
        case Stage::output: return of_head(Site::head_output, head);
        case Stage::resid_pre: return of_block(Site::resid_pre);
        case Stage::attention_output: return of_block(Site::attention_output);
        case Stage::resid_mid: return of_block(Site::resid_mid);
        case Stage::mlp_output: return of_block(Site::mlp_output);
        case Stage::final_residual: {
            const auto blocks = std::ssize(attention.queries.network().blocks);
            change.at.attention += blocks - 1 - attention.place.layer;
            return of_block(Site::resid_post);
        }
        default: return std::nullopt;
    }
}

}  // namespace attn::app
