// Makes a file in slices, to be offered as a download.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attn::app {

class Download {
  public:
    virtual ~Download() = default;
    virtual bool step() = 0;  // true while there is more to do
    virtual float progress() const = 0;
    virtual const std::string& name() const = 0;  // file name
    virtual std::vector<std::byte> finish() = 0;  // call once it is done
};

}  // namespace attn::app
