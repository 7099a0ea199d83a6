// Runs one text through a model; a job does the work in slices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/forward.hpp"
#include "runs/attention.hpp"

namespace attn::app {

// A run does not change, except that the overview of its heads and the logits are added once computed.
class TextRun final : public Attention {
  public:
    // `pieces` [n] says how the text's tokens read; `text` helps to find where its words begin and end.
    TextRun(std::shared_ptr<const Trace> trace, std::vector<std::string> pieces, const std::string& text,
            std::string model);

    const std::shared_ptr<const Trace> run;
    const std::vector<std::string> pieces;  // [n]
    const WordAxis words;
    std::optional<HeadOverview> all_heads;
    Tensor logits;  // [1, vocabulary], of the predicted token

    // Starts the overview of all heads, and computes the logits of the last token. What the overview of the run before has of the
    // tokens that both begin with is taken over.
    Status begin_overview(const TextRun* before = nullptr);
    const Record& record_at(Index layer) const {
        return run->layers()[static_cast<std::size_t>(layer)].attention;
    }
    Index tokens() const { return run->tokens(); }
    // Computes the logits of this token instead.
    void predict(Index token);
    Index predicted() const override { return predicted_; }

    // Remembers what it has in common with the run that it takes the place of.
    void follow(const TextRun& before);

    std::uint64_t version() const override { return version_; }
    Index kept_since(std::uint64_t version, bool of_words) const override {
        return version != before_ ? 0 : of_words ? kept_words_ : kept_tokens_;
    }
    Index layers() const override { return std::ssize(run->layers()); }
    Index heads() const override { return run->layers()[0].attention.heads(); }
    Index queries() const override { return tokens(); }
    Index keys() const override { return tokens(); }
    const std::vector<std::string>& query_names() const override { return pieces; }
    const std::vector<std::string>& key_names() const override { return pieces; }
    const WordAxis& query_words() const override { return words; }
    const WordAxis& key_words() const override { return words; }
    std::span<const std::int32_t> ids() const override { return run->ids(); }
    std::string small_print(Index query) const override;
    std::vector<Stage> stages() const override;
    Stage stage_for(Stage chosen) const override { return chosen; }
    HeadMaps maps(const MapChoice& choice) const override;
    std::shared_ptr<const Record> record(Index layer) const override { return record_of(run, layer); }
    HeadOverview* overview() override { return all_heads ? &*all_heads : nullptr; }
    std::shared_ptr<const Trace> trace() const override { return run; }
    std::map<std::string, std::string> source() const override;
    std::string title() const override { return model_; }
    std::string instead() const override { return "save one head's window, or shorten the text"; }

  private:
    std::string model_;
    std::uint64_t version_;
    Index predicted_;
    std::uint64_t before_ = 0;  // version of the run before
    Index kept_tokens_ = 0, kept_words_ = 0;
};

// Names a segment as Devlin et al. 2019 (arXiv 1810.04805) do: "A" or "B".
std::string segment_name(std::int32_t segment);

class TextJob {
  public:
    explicit TextJob(bool overview) : overview_(overview) {}
    void clear() { *this = TextJob(overview_); }
    // Without ids there is nothing to show. The existing run stays until the new one is complete, which continues it
    // as far as their tokens are the same. The segments follow from the ids: as many, or none.
    Status start(const std::shared_ptr<const Model>& model, const std::string& model_name,
                 std::vector<std::int32_t> ids, std::vector<std::int32_t> segments,
                 std::vector<std::string> pieces, std::string text);
    bool running() const { return forward_ || next_; }
    // Does a slice; returns true when the run has just become complete. Where it is longer or shorter by a few
    // tokens, its overview is as far as the one before, so that no picture goes and comes.
    Result<bool> step();

    TextRun* run() const { return run_.get(); }
    const std::vector<std::int32_t>& ids() const { return ids_; }  // of the run, or of the one in progress
    float progress() const { return forward_ ? forward_->progress() : 1; }
    // Returns the computing time of the last forward pass, without the frames drawn between its slices.
    double forward_ms() const { return forward_ms_; }

  private:
    Result<bool> forward_step();

    bool overview_;
    std::vector<std::int32_t> ids_;
    std::vector<std::string> pieces_;
    std::string text_, model_;
    std::optional<Forward> forward_;
    double forward_ms_ = 0;
    std::unique_ptr<TextRun> run_, next_;
    bool catches_up_ = false;
};

}  // namespace attn::app
