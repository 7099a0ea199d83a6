// Holds a vertex and a fragment shader with a vertex array of their own, made when first needed and again in
// a new context.
#pragma once

#include <GLES3/gl3.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace attn::render {

class Program {
  public:
    Program(std::string_view vertex, std::string_view fragment) : vertex_(vertex), fragment_(fragment) {}

    void prepare();  // starts compiling and linking, without waiting
    bool use();      // false: it does not compile here; see fault()
    GLint uniform(const char* name) const { return glGetUniformLocation(program_, name); }
    const std::string& fault() const { return fault_; }

  private:
    std::string_view vertex_, fragment_;
    GLuint program_ = 0, vertex_array_ = 0;
    std::array<GLuint, 2> shaders_{};
    std::uint64_t context_ = 0;
    bool checked_ = false;  // set once compiling has finished and been checked
    std::string fault_;
};

}  // namespace attn::render
