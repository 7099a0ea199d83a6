#include "lenses/scale/scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/moments.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "tensor/random.hpp"

namespace attn::app {

namespace {

constexpr Index components_a_step = Index{1} << 15;
constexpr std::array<std::string_view, 2> vector_keys{"normal", "head"};

// "64", "20,head", "64,normal,7": components, vectors, seed.
constexpr LinkRow scale_rows[] = {
    {"scale.d", "a number of components from 1 to 4,096, and normal or head, and a seed, as 64,normal,7",
     [](State& s, const std::string& value) {
         const auto parts = split(value, ',');
         const auto components = read_integer<Index>(parts[0]);
         const auto vectors = parts.size() > 1 ? index_of(vector_keys, parts[1]) : 0;
         const auto seed = parts.size() > 2 ? read_integer<std::uint32_t>(parts[2]) : ScaleState{}.seed;
         if (!components || !vectors || !seed || parts.size() > 3) return false;
         return take(s, SetScale{{static_cast<ScaleVectors>(*vectors), *components, *seed}});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const ScaleState& scale = s.of<ScaleState>();
         if (scale == ScaleState{}) return std::nullopt;
         std::string text = std::to_string(scale.components);
         const bool other_seed = scale.seed != ScaleState{}.seed;
         if (scale.vectors != ScaleVectors::normal || other_seed)
             text.append(",").append(vector_keys[static_cast<std::size_t>(scale.vectors)]);
         if (other_seed) text += "," + std::to_string(scale.seed);
         return text;
     }},
};

}  // namespace

LinkRows scale_links() { return {scale_rows}; }

Status SetScale::apply(State& state) const {
    if (scale.components < 1 || scale.components > scale_components_limit)
        return Error{"Vectors here have 1 to " + with_commas(scale_components_limit) + " components."};
    state.edit<ScaleState>() = scale;
    return ok();
}
std::string SetScale::describe(const State&) const { return "d_k " + std::to_string(scale.components); }

DotProducts::DotProducts(Index components, Index pairs, std::uint32_t seed)
    : components_(components), pairs_(pairs), seed_(seed) {}

DotProducts::DotProducts(std::shared_ptr<const Record> record, Index head, Index components, Index pairs)
    : record_(std::move(record)),
      head_(head),
      components_(std::min(components, record_->d_k())),
      pairs_(std::min(pairs, record_->queries() * record_->keys())) {}

bool DotProducts::step() {
    const Index end = std::min(next_ + std::max(components_a_step / components_, Index{1}), pairs_);
    for (; next_ < end; ++next_) {
        double sum = 0;
        if (!record_) {
            Random random(mixed(seed_, static_cast<std::uint64_t>(next_)));
            for (Index a = 0; a < components_; ++a) sum += random.normal() * random.normal();
        } else {
            const Index cells = record_->queries() * record_->keys(), cell = next_ * cells / pairs_;
            const Index query = cell / record_->keys(), key = cell % record_->keys();
            if (!record_->spec().mask.allows(head_, query, key)) continue;
            const float *q = record_->q().heads().head(head_).row(query),
                        *k = record_->k().heads().head(record_->kv_head(head_)).row(key);
            for (Index a = 0; a < components_; ++a)
                sum += static_cast<double>(q[a]) * static_cast<double>(k[a]);
        }
        values_.push_back(static_cast<float>(sum));
    }
    return !done();
}

std::vector<Index> histogram_of(const std::vector<float>& values, double reach, Index bins) {
    std::vector<Index> counts(static_cast<std::size_t>(bins), 0);
    for (const float value : values) {
        if (!std::isfinite(value)) continue;
        const double place = (static_cast<double>(value) / reach + 1) / 2 * static_cast<double>(bins);
        const auto bin = std::clamp(place, 0.0, static_cast<double>(bins) - 1);
        ++counts[static_cast<std::size_t>(bin)];
    }
    return counts;
}

std::shared_ptr<const Record> ScaleLens::record_of(Subject& subject, const State& state) {
    const Attention* attention = subject.attention();
    const Selection& s = state.selection;
    if (state.of<ScaleState>().vectors != ScaleVectors::head || !attention) return nullptr;
    if (s.layer >= attention->layers() || s.head >= attention->heads()) return nullptr;
    return attention->record(s.layer);
}

const DotProducts& ScaleLens::products(Subject& subject) {
    const auto record = record_of(subject, state());
    Shown now{state().of<ScaleState>()};
    if (record) {
        now.version = subject.attention()->version();
        now.layer = state().selection.layer;
        now.head = state().selection.head;
    }
    if (shown_ != now) {
        shown_ = now;
        record ? products_.emplace(record, now.head, now.scale.components, scale_pairs)
               : products_.emplace(now.scale.components, scale_pairs, now.scale.seed);
        products_->step();
    }
    return *products_;
}

std::string ScaleLens::spoken(Subject& subject) {
    const DotProducts& shown = products(subject);
    const double spread = std::sqrt(moments_of(shown.values()).variance);
    const std::string d = std::to_string(shown.components());
    return "Over " + d + (shown.components() == 1 ? " component" : " components") + ", q · k spreads by ± " +
           fixed(spread, 2) + "; divided by √" + d + ", by ± " +
           fixed(spread / std::sqrt(static_cast<double>(shown.components())), 2) + ".";
}

std::vector<Table> ScaleLens::tables(Subject& subject) {
    const std::vector<float>& values = products(subject).values();
    Table table{"q · k", {"q · k"}, {}, Matrix(std::min(std::ssize(values), table_row_limit), 1)};
    for (Index i = 0; i < table.values.rows; ++i) {
        table.row_labels.push_back("pair " + std::to_string(i));
        table.values.at(i, 0) = static_cast<double>(values[static_cast<std::size_t>(i)]);
    }
    return {std::move(table)};
}

Guide ScaleLens::guide(Subject&) const {
    return {"Why √d_k",
            "A score is a sum of d_k products. If the components of q and k are independent, with mean 0 and "
            "variance 1, each product has variance 1 and their sum has variance d_k (Vaswani et al. 2017, "
            "arXiv 1706.03762, section 3.2.1).\n\n"
            "Large scores make softmax put everything on one key, where its gradient is almost 0. Dividing "
            "by √d_k brings the variance back to 1, whatever d_k is."};
}

}  // namespace attn::app
