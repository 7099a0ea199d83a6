// Saves the numbers of a map's window, or of every head, as files that are made in slices.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/download.hpp"
#include "parts/all_heads.hpp"

namespace attn::parts {

// In unsigned maps, such as weights, masked cells are written as 0, because they count as 0; in other maps
// they are written as −inf.
class Saving final : public app::Download {
  public:
    using Made = Result<std::unique_ptr<app::Download>>;
    struct Window {
        MapPointer map;
        Range queries, keys;
    };

    // Makes text with the names of the queries and keys; the names cover [all queries] and [all keys].
    static Made csv(Window window, std::span<const std::string> query_names,
                    std::span<const std::string> key_names, std::string name);
    static Made npy(Window window, std::string name);  // f32 [queries, keys]
    // Makes an archive of attention.npy, f32 [layers, heads, queries, keys]; ids.npy, i32 [tokens], if there
    // are ids; and about.json, which says what the numbers are, what the axes are called, and what text each
    // token has. With words, the shape is [layers, heads, words, words], and about.json gives the number of
    // tokens in each.
    static Made all_heads(const AllHeads& all);

    bool step() override;  // writes about 2^16 cells, at least a row
    float progress() const override;
    const std::string& name() const override { return name_; }
    std::vector<std::byte> finish() override;

    // Writes rows in the file's format.
    struct Rows {
        virtual ~Rows() = default;
        virtual void row(Index query, std::span<const float> cells) = 0;
        virtual std::vector<std::byte> finish() = 0;
    };

  private:
    Saving(std::string name, Index maps, Window first, std::unique_ptr<Rows> rows)
        : name_(std::move(name)), maps_(maps), window_(std::move(first)), rows_(std::move(rows)) {}

    std::string name_;
    Index maps_ = 1, map_ = 0, row_ = 0;  // row_ counts within the window
    Window window_;
    // Makes each map if there are several; `heads_` belong to one layer.
    HeadMaps make_map_;
    Index heads_ = 1;
    std::unique_ptr<Rows> rows_;
};

}  // namespace attn::parts
