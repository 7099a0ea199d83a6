#include "runs/head_naming.hpp"

#include <algorithm>
#include <utility>

#include "app/format.hpp"
#include "io/head_scores_json.hpp"

namespace attn::app {

namespace {

constexpr Index longest_period = 64, measured_sequences = 4;
constexpr std::uint64_t measuring_seed = 1;
// Means over 4 and over 16 sequences differ by chance, for the bundled model by 0.06 at most; heads of other
// weights differ by far more.
constexpr double most_apart = 0.2;

// Special tokens at the start of the vocabulary are not drawn.
Index first_ordinary(const ModelConfig& config) {
    Index first = 0;
    for (const auto* ids : {&config.bos_ids, &config.eos_ids})
        for (const std::int64_t id : *ids)
            if (id >= 0 && id < config.vocab_size / 4) first = std::max(first, static_cast<Index>(id) + 1);
    return first;
}

}  // namespace

std::string written_score(double score) { return fixed(score, score < 1 && score >= 0.995 ? 3 : 2); }

Result<RoleTable> read_role_table(std::span<const std::byte> scores, Index layers, Index heads) {
    std::vector<std::string_view> keys;
    for (const HeadRoleInfo& role : head_roles) keys.push_back(role.key);
    const auto numbers = parse_head_scores(scores, layers, heads, keys);
    if (!numbers) return numbers.error();
    return role_table(layers, heads, *numbers);
}

std::optional<HeadRole> NamedHeads::role(HeadIndex head) const {
    if (!table.has(head)) return std::nullopt;
    const auto roles = roles_of(table.of(head));
    return roles.empty() ? std::nullopt : std::optional(roles.front());
}

std::string NamedHeads::measured_on(HeadRole role) const {
    return role == HeadRole::pronoun ? "in test texts" : "on " + repeats;
}

std::string NamedHeads::name(HeadIndex head) const {
    const auto best = role(head);
    return best ? std::string(info(*best).name) + " " + written_score(table.of(head)[*best]) + " " +
                      measured_on(*best)
                : "";
}

std::string NamedHeads::told(HeadIndex head) const {
    std::string text;
    if (!table.has(head)) return text;
    for (const HeadRole role : roles_of(table.of(head)))
        text.append(capitalised(info(role).name))
            .append(" ")
            .append(written_score(table.of(head)[role]))
            .append(" ")
            .append(measured_on(role))
            .append(": ")
            .append(info(role).meaning)
            .append(". A head with at least ")
            .append(fixed(info(role).least, 1))
            .append(" is called so.\n");
    if (!text.empty()) text.append(source);
    return text;
}

HeadNaming::HeadNaming(std::shared_ptr<const Model> model, std::optional<RoleTable> given)
    : model_(std::move(model)), given_(given.has_value()) {
    const ModelConfig& config = model_->config();
    // At most half the vocabulary, so that few tokens coincide by chance.
    period_ =
        std::min({longest_period, config.context / 2, (config.vocab_size - first_ordinary(config)) / 2});
    done_ = period_ < 2;
    if (given)
        heads_ =
            std::make_shared<NamedHeads>(*std::move(given), "From the model's scores.json", "random repeats");
}

std::int64_t HeadNaming::bytes() const {
    return done_ ? 0 : trace_bytes(model_->config(), 2 * period_, 2 * period_);
}

bool HeadNaming::step() {
    if (done_) return false;
    if (!measuring_) {
        auto measuring = RepeatedTokens::start(model_, period_, measured_sequences,
                                               first_ordinary(model_->config()), measuring_seed);
        done_ = !measuring;
        if (measuring) measuring_ = *std::move(measuring);
        return !done_;
    }
    const auto more = measuring_->step();
    if (more && *more) return true;
    if (more) conclude(role_table(measuring_->scores()));
    measuring_.reset();
    done_ = true;
    return false;
}

void HeadNaming::conclude(RoleTable measured) {
    if (given_) {
        const auto doubt = disagreement(heads_->table, measured, most_apart);
        if (!doubt) return;
        doubt_ = "scores.json is not of these weights: it gives head " + std::to_string(doubt->head.layer) +
                 "." + std::to_string(doubt->head.head) + " “" + info(doubt->role).name + "” " +
                 written_score(heads_->table.of(doubt->head)[doubt->role]) + ", and they have " +
                 written_score(measured.of(doubt->head)[doubt->role]) +
                 ". Heads are named by what was measured here.";
    }
    ++milestones_;
    heads_ =
        std::make_shared<NamedHeads>(std::move(measured),
                                     "Measured on " + std::to_string(measured_sequences) + " sequences of " +
                                         std::to_string(period_) + " random tokens, each given twice",
                                     std::to_string(measured_sequences) + " random repeats");
}

}  // namespace attn::app
