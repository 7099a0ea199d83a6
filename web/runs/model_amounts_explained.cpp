#include "runs/model_amounts_explained.hpp"

#include <cmath>

namespace attn::app {

namespace {

// The embeddings alone, and all.
void explain_weights(Explained& out, const ModelShape& shape) {
    ModelShape outside = shape;
    outside.layers = outside.encoder_layers = 0;
    const double all = weight_count(shape), embeddings = weight_count(outside);
    out.formula = "embeddings + blocks";
    out.note = "All numbers of matrices and embeddings; biases and gains of norms are not counted.";
    const Expression first = out.step("embeddings", embeddings);
    out.step("all", first + out.step("blocks", all - embeddings));
}

void explain_cache(Explained& out, const ModelUse& use) {
    const double a_key = 2 * static_cast<double>(use.shape.kv_heads * use.shape.head_dim) * use.bytes.cached;
    out.formula = "2 · KV heads · head_dim · bytes · keys kept, over all layers";
    out.unit = "bytes";
    const Expression one = out.step("a token of a layer", a_key);
    out.step("bytes", one * out.step("kept", std::round(*use.amount(Amount::cache) / a_key)));
}

void explain_step(Explained& out, const ModelUse& use, Amount amount) {
    const ModelStep step = use.step(is_of_reading(amount));
    const auto operations = [&] {
        const StepCost& of = step.operations;
        return out.step("operations", out.step("matrices", of.matrices) +
                                          out.step("attention", of.attention) +
                                          out.step("logits", of.logits));
    };
    const auto moved = [&] {
        return out.step("bytes", out.step("weights", step.weights) + out.step("keys and values", step.cache) +
                                     out.step("inputs and outputs", step.activations));
    };
    if (amount == Amount::reading || amount == Amount::writing) {
        out.formula = "2 · tokens · weights + 4 · heads · head_dim · keys seen + 2 · weights of the head";
        out.note =
            "Only the last token has logits. A multiplication and an addition are two operations; "
            "norms, softmax and activations are not counted.";
        operations();
    } else if (amount == Amount::reading_bytes || amount == Amount::writing_bytes) {
        out.formula = "weights + keys and values + inputs and outputs";
        out.unit = "bytes";
        out.note =
            "A step reads each matrix once, and keys and values that are seen, and writes the new "
            "ones; what goes into and comes out of matrices and attention takes 4 bytes a number.";
        moved();
    } else if (amount == Amount::attention_share) {
        out.formula = "attention / all operations";
        out.step("share", Expression(step.operations.attention) / operations());
    } else if (amount == Amount::reading_intensity || amount == Amount::writing_intensity) {
        out.formula = "operations / bytes";
        const Expression all = operations();
        out.step("a byte", all / moved());
    } else {
        out.provenance = "under the roofline measured in this tab";
        out.formula = "max(operations / peak, bytes / bandwidth)";
        out.unit = "ms";
        out.note = "At best: if arithmetic or memory were all that counts.";
        const Expression arithmetic =
            out.step("arithmetic", Expression(step.operations.total()) / use.roof->peak * 1000);
        const Expression memory = out.step("memory", Expression(step.moved()) / use.roof->bandwidth * 1000);
        out.step("at best", max(arithmetic, memory));
    }
}

}  // namespace

void explain_amount(Explained& out, const ModelUse& use, Amount amount) {
    switch (amount) {
        case Amount::weights: return explain_weights(out, use.shape);
        case Amount::cache: return explain_cache(out, use);
        default: return explain_step(out, use, amount);
    }
}

}  // namespace attn::app
