// Turns files into tensors with known roles. They are read, matched and unpacked in slices, and the user is
// asked if names and shapes say too little. The open tensors stay untouched meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/tensor_match.hpp"
#include "subjects/tensors/tensor_intake.hpp"
#include "subjects/tensors/tensor_set.hpp"

namespace attn::app {

// Goes through the rows of [layers, heads, rows, columns], some at a time.
class RowWalk {
  public:
    explicit RowWalk(const ArrayView& from) : from_(from) {}

    // Passes on about 2^18 elements of one layer, as take(layer, row); true while there are more.
    bool step(auto take);

  private:
    ArrayView from_;
    Index next_ = 0;  // counts over all heads of all layers
};

// Converts [layers, heads, rows, columns] to f32.
class TensorConversion {
  public:
    explicit TensorConversion(const ArrayView& from);

    bool step();                 // true while there is more to do
    std::vector<Tensor> take();  // [heads, rows, columns] for each layer

  private:
    Shape shape_;
    RowWalk rows_;
    std::vector<AlignedVector<float>> values_;
};

// The same for a mask, as bits.
class MaskConversion {
  public:
    // True: nonzero means allowed; false: zero means allowed.
    MaskConversion(const ArrayView& from, bool allows);

    bool step();
    std::vector<Mask> take();  // one for each layer

  private:
    RowWalk rows_;
    bool allows_;
    std::vector<PaintedBits> bits_;
};

class TensorOpening {
  public:
    enum class Phase { reading, asking, loading, ready, failed };

    explicit TensorOpening(std::vector<TensorFile> files, Answers answers = {});

    Phase phase() const { return phase_; }
    const std::vector<TensorFile>& files() const { return files_; }
    bool works() const { return phase_ == Phase::reading || phase_ == Phase::loading; }

    void step();  // call while it works
    float progress() const;

    // Valid while it asks. Answers may lead to more questions.
    const std::vector<Question>& questions() const { return questions_; }
    void answer(const std::string& question, const std::string& answer);

    // Valid once it has failed. lacks_something() says whether a tensor is missing, which other files may
    // hold.
    const Error& error() const { return *error_; }
    bool lacks_something() const { return lacks_something_; }

    std::unique_ptr<TensorSet> take();  // once it is ready

  private:
    struct Needed {  // a tensor that takes part
        PlacedTensor place;
        std::string role;  // "Q"; empty: finished weights, which stay in the file's format
    };
    void fail(Error error);
    void match_found();
    Status check_weights() const;
    void load_some();
    void convert(OpenTensor tensor);
    OpenTensor opened(const Needed& needed, const LoadedTensor& loaded) const;
    void take_part(const std::string& role, std::vector<Tensor> layers);

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
    std::size_t next_ = 0;  // index into needed_
    std::optional<TensorLoading> loading_;
    std::optional<TensorConversion> conversion_;
    std::optional<MaskConversion> mask_conversion_;
};

}  // namespace attn::app
