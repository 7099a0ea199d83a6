// Questions about short lists, each with one answer, for networks so small that the mechanism by which they
// answer can be found head by head:
//     list 3 7 1 7 largest      7   the largest digit
//     list A B A C different    3   how many different letters there are
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/trainer.hpp"

namespace attn {

enum class Puzzle { largest, different };

std::optional<Puzzle> puzzle_named(std::string_view name);
std::string_view name_of(Puzzle puzzle);  // also the word that asks

// The vocabulary. A list begins with the word 0 and the question is the word 1.
std::vector<std::string> puzzle_words(Puzzle puzzle);

struct PuzzleList {
    std::vector<std::int32_t> ids;  // begins with "list" and ends with the question
    std::int32_t answer = 0;        // the token that comes next
    bool operator==(const PuzzleList&) const = default;
};

// A tenth of all lists is in no training batch, which ones being a function of their tokens.
bool is_held_out(const PuzzleList& list);

// Draws lists of 2 symbols up to as many as fit into the context. Before held-out lists are left out, each
// answer is as likely as another where lists are long enough for it. It is an error if the context is
// shorter than 4.
Result<Batches> puzzle_batches(Puzzle puzzle, Index context, std::uint64_t seed);
// Lists for measuring, drawn in the same way; the context is at least 4. Few or none of them have an answer
// that few lists have, such as 0, the largest of zeros alone.
std::vector<PuzzleList> held_out_lists(Puzzle puzzle, Index context, std::size_t count, std::uint64_t seed);

// The share of the lists whose answer the model gives as the likeliest next token, while some of its heads
// write nothing.
Result<double> share_answered(const Model& model, std::span<const PuzzleList> lists,
                              std::span<const HeadIndex> ablated = {});

}  // namespace attn
