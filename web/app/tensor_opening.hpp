// From files to tensors that have been understood: read, matched, asked about where their names and shapes say too
// little, unpacked. All of it in slices; what is open meanwhile is not touched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/tensor_intake.hpp"
#include "app/tensor_set.hpp"
#include "io/tensor_match.hpp"

namespace attn::app {

// The elements of [1, heads, rows, columns] as f32, some rows at a time.
class TensorConversion {
  public:
    explicit TensorConversion(const ArrayView& from);

    bool step();    // about 2^18 elements; true while there is more to do
    Tensor take();  // [heads, rows, columns]

  private:
    ArrayView from_;
    AlignedVector<float> values_;
    Index next_ = 0;  // row, over all heads
};

// The same of a mask, as bits.
class MaskConversion {
  public:
    MaskConversion(const ArrayView& from,
                   bool allows);  // allows: what is not 0 is allowed, otherwise what is

    bool step();
    PaintedBits take() { return std::move(bits_); }

  private:
    ArrayView from_;
    bool allows_;
    PaintedBits bits_;
    Index next_ = 0;
};

class TensorOpening {
  public:
    enum class Phase { reading, asking, loading, ready, failed };

    explicit TensorOpening(std::vector<TensorFile> files, Answers answers = {});

    Phase phase() const { return phase_; }
    const std::vector<TensorFile>& files() const { return files_; }
    bool works() const { return phase_ == Phase::reading || phase_ == Phase::loading; }

    void step();  // while it works
    float progress() const;

    // While it asks. More may follow.
    const std::vector<Question>& questions() const { return questions_; }
    void answer(const std::string& question, const std::string& answer);

    // Once it has failed. Whether it was for want of a tensor, which other files may hold.
    const Error& error() const { return *error_; }
    bool lacks_something() const { return lacks_something_; }

    std::unique_ptr<TensorSet> take();  // once it is ready

  private:
    struct Needed {  // a tensor that takes part
        PlacedTensor place;
        std::string role;  // "Q"; empty: finished weights, which stay as they lie
    };
    void fail(Error error);
    void match_found();
    Status check_weights() const;
    void load_some();
    void convert(OpenTensor tensor);
    OpenTensor opened(const Needed& needed, LoadedTensor loaded) const;
    void take_part(const std::string& role, Tensor values);

    std::vector<TensorFile> files_;
    Answers answers_;
    Phase phase_ = Phase::reading;
    std::optional<FileReading> reading_;
    FoundFiles found_;
    std::vector<Question> questions_;
    std::optional<Error> error_;
    bool lacks_something_ = false;

    TensorSet::Parts parts_;
    std::vector<Needed> needed_;
    std::size_t next_ = 0;  // of needed_
    std::optional<TensorLoading> loading_;
    std::optional<TensorConversion> conversion_;
    std::optional<MaskConversion> mask_conversion_;
};

}  // namespace attn::app
