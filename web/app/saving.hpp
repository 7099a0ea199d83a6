// Numbers that a lens shows as files, made in slices: the cells of a map's window, or those of every head.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/all_heads.hpp"

namespace attn::app {

// Masked cells of a map without sign, as weights are, are written as the 0 that they count; of others as −inf.
class Saving {
  public:
    struct Window {
        MapPointer map;
        Range queries, keys;
    };

    // As text with the names of its queries and keys, [all queries] and [all keys].
    static Result<Saving> csv(Window window, std::span<const std::string> query_names,
                              std::span<const std::string> key_names, std::string name);
    static Result<Saving> npy(Window window, std::string name);  // f32 [queries, keys]
    // An archive of attention.npy, f32 [layers, heads, queries, keys], ids.npy, i32 [tokens], where there are ids, and
    // about.json, which says what they are, what their axes are called, and how the tokens read. Of words [layers, heads,
    // words, words], and about.json says how many tokens each has.
    static Result<Saving> all_heads(const AllHeads& all);

    bool step();  // about 2^16 cells, a row at least; true while there is more to do
    float progress() const;
    const std::string& name() const { return name_; }  // of the file
    std::vector<std::byte> finish();                   // once it is done

    // Where rows go.
    struct Sink {
        virtual ~Sink() = default;
        virtual void row(Index query, std::span<const float> cells) = 0;
        virtual std::vector<std::byte> finish() = 0;
    };

  private:
    Saving(std::string name, Index maps, Window first, std::unique_ptr<Sink> sink)
        : name_(std::move(name)), maps_(maps), window_(std::move(first)), sink_(std::move(sink)) {}

    std::string name_;
    Index maps_ = 1, map_ = 0, row_ = 0;  // row of the window
    Window window_;
    // Of several maps: how they are made, and how many are of a layer.
    HeadMaps make_map_;
    Index heads_ = 1;
    std::unique_ptr<Sink> sink_;
};

}  // namespace attn::app
