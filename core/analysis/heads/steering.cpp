#include "analysis/heads/steering.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/linalg/vectors.hpp"
#include "model/explain.hpp"

namespace attn {

namespace {

using Kind = SteeringDirection::Kind;
using Vector = std::vector<double>;

// ---- Norms and matrices in double -------------------------------------------------------------------------

// x · W, of `count` outputs from `first` on.
Vector through(const WeightView& weight, const Vector& x, Index first, Index count) {
    Vector out(static_cast<std::size_t>(count));
    for (Index o = 0; o < count; ++o)
        for (Index i = 0; i < std::ssize(x); ++i)
            out[static_cast<std::size_t>(o)] +=
                x[static_cast<std::size_t>(i)] * element(weight, i, first + o);
    return out;
}
// W · y: a direction behind a matrix, in front of it.
Vector back_through(const WeightView& weight, const Vector& y) {
    Vector out(static_cast<std::size_t>(weight.in));
    for (Index i = 0; i < weight.in; ++i)
        for (Index o = 0; o < weight.out; ++o)
            out[static_cast<std::size_t>(i)] += element(weight, i, o) * y[static_cast<std::size_t>(o)];
    return out;
}

Vector without_mean(Vector x) {
    double mean = 0;
    for (const double each : x) mean += each / static_cast<double>(x.size());
    for (double& each : x) each -= mean;
    return x;
}
// A direction behind a norm, in front of it, at a deviation of 1.
Vector back_through(const Norm& norm, Vector y) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= static_cast<double>(norm.gain.values()[i]);
    return norm.kind == Norm::Kind::layer ? without_mean(std::move(y)) : y;
}
// The same forward, without the bias.
Vector pass(const Norm& norm, Vector x) {
    if (norm.kind == Norm::Kind::layer) x = without_mean(std::move(x));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= static_cast<double>(norm.gain.values()[i]);
    return x;
}

// ---- Directions -------------------------------------------------------------------------------------------

Vector embedding(const Network& network, std::int32_t token) {
    Vector row(static_cast<std::size_t>(network.token_embedding.in));
    for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = element(network.token_embedding, static_cast<Index>(i), token);
    if (network.project_in) row = through(network.project_in->weight, row, 0, network.project_in->weight.out);
    for (double& each : row) each *= network.embedding_scale;
    return network.embedding_norm ? FrozenNorm(*network.embedding_norm, row).of(row) : row;
}

Vector unembedding(const Network& network, std::int32_t token) {
    Vector row(static_cast<std::size_t>(network.head.weight.in));
    for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = element(network.head.weight, static_cast<Index>(i), token);
    if (network.project_out) row = back_through(network.project_out->weight, row);
    if (network.head_transform)
        row = back_through(network.head_transform->dense.weight,
                           back_through(network.head_transform->norm, std::move(row)));
    return network.final_norm ? back_through(*network.final_norm, std::move(row)) : row;
}

// The norm between the stream and an attention; null: it reads the stream as it is.
const Norm* input_norm(const Network& network, const LayerAttention& at) {
    if (at.half.attention_norm) return &*at.half.attention_norm;
    if (at.place.layer == 0) return nullptr;
    const Block& before = network.blocks[static_cast<std::size_t>(at.place.layer - 1)];
    return before.mlp_post_residual_norm ? &*before.mlp_post_residual_norm : nullptr;
}

Vector written(const Trace& run, const HeadIndex& head, std::int32_t token) {
    const LayerAttention at = run.attention(head.layer);
    const Model& model = *run.model();
    Vector read = embedding(at.queries.network(), token);
    if (const Norm* norm = input_norm(at.queries.network(), at)) read = FrozenNorm(*norm, read).of(read);
    const Index width = at.record().d_v(), kv_head = at.record().kv_head(head.head);
    const WeightView& w_o = at.half.attention_out.weight;
    Vector out(static_cast<std::size_t>(w_o.out));
    for (Index a = 0; a < width; ++a) {
        const QkvColumn column = qkv_column(model, Stage::v, head.layer, kv_head, a);
        double value = through(column.linear->weight, read, column.out, 1).front();
        if (column.linear->bias.size() > 0)
            value += static_cast<double>(column.linear->bias.values()[static_cast<std::size_t>(column.out)]);
        for (Index i = 0; i < w_o.out; ++i)
            out[static_cast<std::size_t>(i)] += value * element(w_o, head.head * width + a, i);
    }
    const auto& behind = at.half.attention_post_sublayer_norm;
    return behind ? pass(*behind, std::move(out)) : out;
}

// The mean over all rows that the runs have at a site, or the only one of them.
Vector mean_of(SteeringRuns::Runs runs, const Steering& at) {
    Vector sum;
    Index count = 0;
    for (const auto& run : runs) {
        const ConstMatrix rows = numbers_at(*run, at.attention, at.site).head(0);
        sum.resize(static_cast<std::size_t>(rows.cols));
        count += rows.rows;
        for (Index row = 0; row < rows.rows; ++row)
            for (Index i = 0; i < rows.cols; ++i)
                sum[static_cast<std::size_t>(i)] += static_cast<double>(rows(row, i));
    }
    for (double& each : sum) each /= static_cast<double>(count);
    return sum;
}
// The same of one run, or its row at the direction's place.
Vector mean_of(const Trace& run, const Steering& at) {
    const std::shared_ptr<const Trace> one(std::shared_ptr<void>(), &run);
    if (!at.direction.place) return mean_of(std::span(&one, 1), at);
    const ConstMatrix rows = numbers_at(run, at.attention, at.site).head(0);
    const float* row = rows.row(*at.direction.place);
    return {row, row + rows.cols};
}

Vector direction_of(const Steering& steering, const Trace& run, const SteeringRuns& others) {
    const SteeringDirection& direction = steering.direction;
    const Network& network = run.attention(steering.attention).queries.network();
    switch (direction.kind) {
        case Kind::embedding: return embedding(network, direction.token);
        case Kind::unembedding: return unembedding(run.network(), direction.token);
        case Kind::written: return written(run, direction.head, direction.token);
        case Kind::second_text: return added(mean_of(run, steering), -1, mean_of(*others.second, steering));
        case Kind::many_texts: return added(mean_of(run, steering), -1, mean_of(others.texts, steering));
        case Kind::contrast: break;
    }
    return added(mean_of(others.positive, steering), -1, mean_of(others.negative, steering));
}

double mean_length(const ConstMatrix& rows) {
    double sum = 0;
    for (Index row = 0; row < rows.rows; ++row) {
        double squares = 0;
        for (Index i = 0; i < rows.cols; ++i)
            squares += static_cast<double>(rows(row, i)) * static_cast<double>(rows(row, i));
        sum += std::sqrt(squares);
    }
    return sum / static_cast<double>(rows.rows);
}

// ---- What the runs have -----------------------------------------------------------------------------------

bool is_of_cross(const Trace& run, Index attention) {
    return run.attention(attention).place.kind == AttentionKind::cross;
}

Status check_written(const Steering& steering, const Trace& run) {
    const HeadIndex& head = steering.direction.head;
    if (head.layer < 0 || head.layer >= run.attentions() || head.head < 0 ||
        head.head >= run.attention(head.layer).record().heads())
        return Error{"There is no head " + std::to_string(head.head) + " in attention " +
                     std::to_string(head.layer) + " of this model."};
    if (is_of_cross(run, head.layer))
        return Error{"A head of cross-attention reads no embedding: choose a head of self-attention."};
    if (&run.attention(head.layer).queries != &run.attention(steering.attention).queries)
        return Error{"This head writes into the stream of the other text: choose a layer of its own text."};
    return ok();
}

Status check_direction(const Steering& steering, const Trace& run, const SteeringRuns& others) {
    const SteeringDirection& direction = steering.direction;
    const Network& network = run.attention(steering.attention).queries.network();
    if (direction.is_of_token()) {
        const Index count =
            direction.kind == Kind::unembedding ? run.network().head.weight.out : network.token_embedding.out;
        if (direction.kind == Kind::unembedding && network.head.weight.out == 0)
            return Error{"An encoder makes no logits: choose a layer of the decoder."};
        if (direction.token < 0 || direction.token >= count)
            return Error{"Token " + std::to_string(direction.token) + " is outside the vocabulary of " +
                         std::to_string(count) + "."};
        return direction.kind == Kind::written ? check_written(steering, run) : ok();
    }
    if (direction.kind == Kind::many_texts)
        return others.texts.empty() ? Error{"The texts that the difference is taken from are not run yet."}
                                    : ok();
    if (direction.kind == Kind::contrast)
        return others.positive.empty() || others.negative.empty()
                   ? Error{"A contrast needs at least one positive and one negative text. Type them."}
                   : ok();
    const Trace* second = others.second;
    if (!second) return Error{"A difference of two texts needs a second text."};
    if (second->model() != run.model()) return Error{"The second text is read by another model."};
    const auto has = [&](const Trace& of) {
        return *direction.place < numbers_at(of, steering.attention, steering.site).rows;
    };
    if (direction.place && (*direction.place < 0 || !has(run) || !has(*second)))
        return Error{"One of the two texts has no token " + std::to_string(*direction.place) + "."};
    return ok();
}

}  // namespace

Status check_steering(const Steering& steering, const Trace& run, const SteeringRuns& others) {
    if (steering.attention < 0 || steering.attention >= run.attentions())
        return Error{"There is no attention " + std::to_string(steering.attention) + " in this model."};
    if (std::ranges::find(steering_sites, steering.site) == steering_sites.end())
        return Error{"A direction is added to the residual stream."};
    const Index rows = numbers_at(run, steering.attention, steering.site).rows;
    if (steering.row && (*steering.row < 0 || *steering.row >= rows))
        return Error{"This text has no token " + std::to_string(*steering.row) + "."};
    if (!std::isfinite(steering.dial)) return Error{"The dial must be at a finite number."};
    return check_direction(steering, run, others);
}

std::vector<float> SteeringVector::added(double dial) const {
    std::vector<float> out;
    for (const double each : direction) out.push_back(static_cast<float>(dial * (stream / length) * each));
    return out;
}

Result<SteeringVector> steering_vector(const Steering& steering, const Trace& run,
                                       const SteeringRuns& others) {
    if (Status fits = check_steering(steering, run, others); !fits) return fits.error();
    SteeringVector made{direction_of(steering, run, others)};
    made.length = length_of(made.direction);
    made.stream = mean_length(numbers_at(run, steering.attention, steering.site).head(0));
    if (made.length == 0)
        return Error{steering.direction.is_of_token()
                         ? "This direction is 0, so adding it changes nothing. Choose another token."
                         : "The two sides do not differ at this place, so there is no direction from one to "
                           "the other."};
    if (!std::isfinite(made.stream / made.length * made.length) || !std::isfinite(made.stream / made.length))
        return Error{"This direction is not finite, or too small to be stretched to the stream’s length."};
    return made;
}

Intervention intervention_of(const Steering& steering, const SteeringVector& vector) {
    // All columns are named, as a run names them.
    Edit edit{.columns = std::vector<Index>(vector.direction.size()),
              .operation = Operation::add,
              .values = vector.added(steering.dial)};
    std::iota(edit.columns.begin(), edit.columns.end(), Index{0});
    if (steering.row) edit.rows = {*steering.row};
    return {.attention = steering.attention, .site = steering.site, .edit = std::move(edit)};
}

}  // namespace attn
