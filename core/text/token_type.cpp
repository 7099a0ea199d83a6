#include "text/token_type.hpp"

#include <algorithm>

namespace attn {

namespace {

constexpr std::array<std::string_view, 22> ends{"<|eot_id|>",
                                                "<|im_end|>",
                                                "<|end|>",
                                                "<|return|>",
                                                "<|call|>",
                                                "<|flush|>",
                                                "<|calls|>",
                                                "<end_of_turn>",
                                                "<|endoftext|>",
                                                "</s>",
                                                "<|eom_id|>",
                                                "<EOT>",
                                                "_<EOT>",
                                                "[EOT]",
                                                "[EOS]",
                                                "<|end_of_text|>",
                                                "<end_of_utterance>",
                                                "<eos>",
                                                "<turn|>",
                                                "<|tool_response>",
                                                "<｜end▁of▁sentence｜>",
                                                "[e~["};

struct FillRow {
    std::string_view text;
    FillMark mark;
};
constexpr std::array fills{
    FillRow{"<|fim_prefix|>", FillMark::prefix},
    FillRow{"<fim-prefix>", FillMark::prefix},
    FillRow{"<fim_prefix>", FillMark::prefix},
    FillRow{"<｜fim▁begin｜>", FillMark::prefix},
    FillRow{"<PRE>", FillMark::prefix},
    FillRow{"▁<PRE>", FillMark::prefix},
    FillRow{"<|code_prefix|>", FillMark::prefix},
    FillRow{"<|prefix|>", FillMark::prefix},
    FillRow{"<|fim_suffix|>", FillMark::suffix},
    FillRow{"<fim-suffix>", FillMark::suffix},
    FillRow{"<fim_suffix>", FillMark::suffix},
    FillRow{"<｜fim▁hole｜>", FillMark::suffix},
    FillRow{"<SUF>", FillMark::suffix},
    FillRow{"▁<SUF>", FillMark::suffix},
    FillRow{"<|code_suffix|>", FillMark::suffix},
    FillRow{"<|suffix|>", FillMark::suffix},
    FillRow{"<|fim_middle|>", FillMark::middle},
    FillRow{"<fim-middle>", FillMark::middle},
    FillRow{"<fim_middle>", FillMark::middle},
    FillRow{"<｜fim▁end｜>", FillMark::middle},
    FillRow{"<MID>", FillMark::middle},
    FillRow{"▁<MID>", FillMark::middle},
    FillRow{"<|code_middle|>", FillMark::middle},
    FillRow{"<|middle|>", FillMark::middle},
    FillRow{"<|fim_pad|>", FillMark::padding},
    FillRow{"<fim-pad>", FillMark::padding},
    FillRow{"<fim_pad>", FillMark::padding},
    FillRow{"<PAD>", FillMark::padding},
    FillRow{"[PAD]", FillMark::padding},
    FillRow{"<|fim_repo|>", FillMark::repository},
    FillRow{"<|repo_name|>", FillMark::repository},
    FillRow{"<fim-repo>", FillMark::repository},
    FillRow{"<REPO>", FillMark::repository},
    FillRow{"<reponame>", FillMark::repository},
    FillRow{"<|file_sep|>", FillMark::file},
};

constexpr std::array<std::string_view, 4> channels{"<|channel|>", "<|message|>", "<|start|>",
                                                   "<|constrain|>"};

}  // namespace

void correct_types(std::span<const std::string_view> tokens, std::span<TokenType> types,
                   const std::array<bool, fill_marks>& given) {
    bool answers_tools = false;
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        const std::string_view text = tokens[id];
        const auto* fill = std::ranges::find(fills, text, &FillRow::text);
        const bool fills_gap = fill != fills.end() && !given[static_cast<std::size_t>(fill->mark)];
        if (fills_gap || std::ranges::find(ends, text) != ends.end()) types[id] = TokenType::control;
        if (std::ranges::find(channels, text) != channels.end()) types[id] = TokenType::user_defined;
        answers_tools |= text == "<|tool_response>";
    }
    if (!answers_tools) return;
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (tokens[id] == "</s>") types[id] = TokenType::normal;
}

}  // namespace attn
