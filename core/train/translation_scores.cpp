#include "train/translation_scores.hpp"

#include <algorithm>

#include "kernels/workers.hpp"

namespace attn {

namespace {

constexpr Index pairs_at_once = 32;

struct Counts {
    Index right = 0, words = 0;
    std::vector<Index> aligned;  // for each head
};

// The strongest of a row's keys.
Index strongest(ConstMatrix weights, Index query) {
    const float* row = weights.row(query);
    return std::max_element(row, row + weights.cols) - row;
}

// How many of the French pieces are words: all but a full stop at the end.
std::size_t words_of(const Translation& pair) {
    return pair.sources.size() - (!pair.french.empty() && pair.french.back() == "." ? 1 : 0);
}

void count_aligned(const EncoderDecoder& network, std::span<const Translation> pairs,
                   EncoderDecoder::Activations& kept, Counts& counts) {
    std::size_t head = 0;
    for (Index layer = 0; layer < network.config().decoder_layers;
         ++layer, head += static_cast<std::size_t>(network.config().heads))
        for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
            const Tensor weights =
                network.weights(EncoderDecoder::Attention::cross, layer, static_cast<Index>(pair), kept);
            for (Index h = 0; h < network.config().heads; ++h)
                for (std::size_t i = 0; i < words_of(pairs[pair]); ++i)
                    counts.aligned[head + static_cast<std::size_t>(h)] += std::ranges::count(
                        pairs[pair].sources[i], strongest(weights.heads().head(h), static_cast<Index>(i)));
        }
}

Counts counted(const EncoderDecoder& network, std::span<const float> parameters,
               const PieceVocabulary& vocabulary, std::span<const Translation> pairs) {
    const ModelConfig& config = network.config();
    Counts counts;
    counts.aligned.resize(static_cast<std::size_t>(config.decoder_layers * config.heads));
    SequencePairs read;
    Index longest = 0;
    for (const Translation& pair : pairs) {
        const auto from = vocabulary.ids(pair.english), to = vocabulary.ids(pair.french);
        read.add(from, to, config.start_id);
        longest = std::max({longest, std::ssize(from), std::ssize(to)});
        counts.words += static_cast<Index>(words_of(pair));
    }
    const auto kept = network.activations(longest * std::ssize(pairs), longest);
    network.loss(parameters, read, *kept);
    count_aligned(network, pairs, *kept, counts);
    const auto made = translate(network, parameters, read.source, longest, *kept);
    for (std::size_t i = 0; i < pairs.size(); ++i) counts.right += made[i] == vocabulary.ids(pairs[i].french);
    return counts;
}

}  // namespace

std::vector<std::vector<std::int32_t>> translate(const EncoderDecoder& network,
                                                 std::span<const float> parameters, const Sequences& sources,
                                                 Index most, EncoderDecoder::Activations& kept) {
    const std::int32_t end = end_id(network.config());
    std::vector<std::vector<std::int32_t>> made(sources.parts.size());
    const auto going = [&](const std::vector<std::int32_t>& one) { return one.empty() || one.back() != end; };
    network.encode(parameters, sources, kept);
    for (Index length = 0; length < most && std::ranges::any_of(made, going); ++length) {
        Sequences decoder;
        for (const auto& one : made) {
            std::vector<std::int32_t> read{network.config().start_id};
            read.insert(read.end(), one.begin(), one.end() - !going(one));
            decoder.add(read);
        }
        const ConstMatrix logits = network.decode(parameters, decoder, kept);
        for (std::size_t i = 0; i < made.size(); ++i)
            if (going(made[i]))
                made[i].push_back(static_cast<std::int32_t>(strongest(logits, decoder.parts[i].end - 1)));
    }
    return made;
}

TranslationScores score_translations(const EncoderDecoder& network, std::span<const float> parameters,
                                     const PieceVocabulary& vocabulary, std::span<const Translation> pairs) {
    const Index tasks = (std::ssize(pairs) + pairs_at_once - 1) / pairs_at_once;
    std::vector<Counts> parts(static_cast<std::size_t>(tasks));
    for_each_block(std::ssize(pairs), pairs_at_once, [&](Range range) {
        parts[static_cast<std::size_t>(range.begin / pairs_at_once)] = counted(
            network, parameters, vocabulary,
            pairs.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size())));
    });
    TranslationScores scores{.pairs = std::ssize(pairs), .heads = {}, .best = {}};
    for (Index layer = 0; layer < network.config().decoder_layers; ++layer)
        for (Index head = 0; head < network.config().heads; ++head) scores.heads.push_back({{layer, head}});
    double words = 0;
    for (const Counts& part : parts) {
        scores.right += static_cast<double>(part.right) / static_cast<double>(pairs.size());
        words += static_cast<double>(part.words);
        for (std::size_t i = 0; i < scores.heads.size(); ++i)
            scores.heads[i].aligned += static_cast<double>(part.aligned[i]);
    }
    for (TranslationScores::Head& head : scores.heads) head.aligned /= words;
    scores.combining = static_cast<double>(std::ranges::count(pairs, true, &Translation::combines)) /
                       static_cast<double>(pairs.size());
    if (!scores.heads.empty())
        scores.best = *std::ranges::max_element(scores.heads, {}, &TranslationScores::Head::aligned);
    return scores;
}

}  // namespace attn
