#include "app/saving.hpp"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "app/map_source.hpp"
#include "io/csv_writer.hpp"
#include "io/npy.hpp"
#include "io/zip_writer.hpp"

namespace attn::app {

namespace {

constexpr Index cells_a_step = Index{1} << 16;
constexpr std::int64_t csv_cells = std::int64_t{1} << 22, npy_cells = std::int64_t{1} << 26;
constexpr std::int64_t archive_bytes = std::int64_t{768} << 20;

std::int64_t cells_in(Index rows, Index cols) { return static_cast<std::int64_t>(rows) * cols; }

Status fits(const Saving::Window& window, std::int64_t most, const char* instead) {
    const std::int64_t cells = cells_in(window.queries.size(), window.keys.size());
    if (cells <= most) return ok();
    return Error{"The window has " + std::to_string(window.queries.size()) + " × " +
                 std::to_string(window.keys.size()) + " cells, and at most " + std::to_string(most) +
                 " are saved like this; " + instead + "."};
}

bool is_there(std::size_t bytes) {
    const std::unique_ptr<std::byte[]> probe(new (std::nothrow) std::byte[bytes]);
    return probe != nullptr;
}

class CsvSink final : public Saving::Sink {
  public:
    CsvSink(std::span<const std::string> query_names, std::span<const std::string> key_names)
        : queries_(query_names.begin(), query_names.end()), csv_(key_names) {}
    void row(Index query, std::span<const float> cells) override {
        csv_.row(queries_[static_cast<std::size_t>(query)], cells);
    }
    std::vector<std::byte> finish() override {
        const auto bytes = std::as_bytes(std::span(csv_.text()));
        return {bytes.begin(), bytes.end()};
    }

  private:
    std::vector<std::string> queries_;
    CsvWriter csv_;
};

class NpySink final : public Saving::Sink {
  public:
    explicit NpySink(const Shape& shape) : file_(npy_header_f32(shape)) {
        file_.reserve(file_.size() + static_cast<std::size_t>(shape[0] * shape[1]) * sizeof(float));
    }
    void row(Index, std::span<const float> cells) override {
        const auto bytes = std::as_bytes(cells);
        file_.insert(file_.end(), bytes.begin(), bytes.end());
    }
    std::vector<std::byte> finish() override { return std::move(file_); }

  private:
    std::vector<std::byte> file_;
};

class HeadsSink final : public Saving::Sink {
  public:
    HeadsSink(std::size_t bytes, const Shape& shape, std::span<const std::int32_t> ids, std::string about)
        : zip_(bytes), ids_(ids.begin(), ids.end()), about_(std::move(about)) {
        zip_.begin("attention.npy");
        zip_.append(npy_header_f32(shape));
    }
    void row(Index, std::span<const float> cells) override { zip_.append(std::as_bytes(cells)); }
    std::vector<std::byte> finish() override {
        zip_.begin("ids.npy");
        zip_.append(write_npy({std::ssize(ids_)}, std::span<const std::int32_t>(ids_)));
        zip_.begin("about.json");
        zip_.append(std::as_bytes(std::span(about_)));
        return zip_.finish();
    }

  private:
    ZipWriter zip_;
    std::vector<std::int32_t> ids_;
    std::string about_;
};

}  // namespace

Result<Saving> Saving::csv(Window window, std::span<const std::string> query_names,
                           std::span<const std::string> key_names, std::string name) {
    if (const Status small = fits(window, csv_cells, "zoom in, or save it as .npy"); !small)
        return small.error();
    const auto shown = key_names.subspan(static_cast<std::size_t>(window.keys.begin),
                                         static_cast<std::size_t>(window.keys.size()));
    return Saving(std::move(name) + ".csv", 1, std::move(window),
                  std::make_unique<CsvSink>(query_names, shown));
}

Result<Saving> Saving::npy(Window window, std::string name) {
    if (const Status small = fits(window, npy_cells, "zoom in"); !small) return small.error();
    const Shape shape{window.queries.size(), window.keys.size()};
    if (!is_there(static_cast<std::size_t>(shape[0] * shape[1]) * sizeof(float)))
        return Error{"There is no memory left for a file of this window; zoom in."};
    return Saving(std::move(name) + ".npy", 1, std::move(window), std::make_unique<NpySink>(shape));
}

Result<Saving> Saving::all_heads(std::shared_ptr<const Trace> trace, const MapChoice& choice,
                                 std::span<const std::string> pieces, const WordAxis& words,
                                 const std::string& model) {
    const auto& layers = trace->layers();
    const bool of_words = takes_words(choice);
    const Index n = of_words ? words.count() : trace->tokens(), heads = layers[0].attention.heads();
    const Shape shape{std::ssize(layers), heads, n, n};
    const std::int64_t bytes = cells_in(n, n) * shape[0] * heads * static_cast<std::int64_t>(sizeof(float));
    const std::string size = std::to_string(shape[0]) + " × " + std::to_string(heads) + " heads over " +
                             std::to_string(n) + (of_words ? " words take " : " tokens take ") +
                             std::to_string(bytes / 1'000'000) + " MB";
    if (bytes > archive_bytes || !is_there(static_cast<std::size_t>(bytes)))
        return Error{size +
                     ", more than a browser tab has to spare; save one head's window, or shorten the text."};
    nlohmann::json about{{"model", model},
                         {"stage", map_keys[static_cast<std::size_t>(choice.stage)]},
                         {"first key", sink_keys[static_cast<std::size_t>(choice.sink)]},
                         {"masked", is_signed(choice.stage) ? "-inf" : "0"},
                         {"tensors", {{"attention", {"layer", "head", "query", "key"}}, {"ids", {"token"}}}},
                         {"tokens", std::vector<std::string>(pieces.begin(), pieces.end())}};
    if (of_words) {
        std::vector<Index> sizes;
        for (const Range& tokens : words.tokens) sizes.push_back(tokens.size());
        about["words"] = words.names;
        about["tokens of a word"] = sizes;
        about["merged"] =
            "mean over a query word's tokens, sum over a key word's (arXiv 1906.04341, section 4.1)";
        about["tensors"]["attention"] = {"layer", "head", "query word", "key word"};
    }
    std::string text = about.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    const std::size_t expected = static_cast<std::size_t>(bytes) + text.size() + 8 * pieces.size() + 4096;
    Saving saving("attention-" + std::string(map_keys[static_cast<std::size_t>(choice.stage)]) + ".npz",
                  shape[0] * heads, {nullptr, {0, n}, {0, n}},
                  std::make_unique<HeadsSink>(expected, shape, trace->ids(), std::move(text)));
    saving.trace_ = std::move(trace);
    saving.choice_ = choice;
    if (of_words) saving.words_ = words.tokens;
    saving.window_.map = saving.map_of_head(0);
    return saving;
}

MapPointer Saving::map_of_head(Index map) const {
    const Index heads = trace_->layers()[0].attention.heads();
    if (!words_.empty()) return word_map_of(trace_, map / heads, map % heads, words_, choice_.sink);
    return map_of(trace_, map / heads, map % heads, choice_.stage, choice_.sink);
}

bool Saving::step() {
    if (map_ == maps_) return false;
    const auto& [map, queries, keys] = window_;
    const Index rows =
        std::clamp(cells_a_step / std::max(keys.size(), Index{1}), Index{1}, queries.size() - row_);
    const Index first = queries.begin + row_;
    std::vector<float> cells = cells_of(*map, {{first, first + rows}, keys});
    if (!map->is_signed())
        for (float& cell : cells) cell = cell == masked_cell ? 0 : cell;
    const auto width = static_cast<std::size_t>(keys.size());
    for (Index r = 0; r < rows; ++r)
        sink_->row(first + r,
                   std::span<const float>(cells).subspan(static_cast<std::size_t>(r) * width, width));
    row_ += rows;
    if (row_ < queries.size()) return true;
    row_ = 0;
    if (++map_ == maps_) return false;
    window_.map = map_of_head(map_);
    return true;
}

float Saving::progress() const {
    const float rows =
        static_cast<float>(row_) / static_cast<float>(std::max(window_.queries.size(), Index{1}));
    return (static_cast<float>(map_) + rows) / static_cast<float>(maps_);
}

std::vector<std::byte> Saving::finish() { return sink_->finish(); }

}  // namespace attn::app
