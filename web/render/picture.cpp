#include "render/picture.hpp"

#include <algorithm>
#include <span>
#include <type_traits>

#include "render/context.hpp"

namespace attn::render {

namespace {

template <class T>
void append(std::vector<std::byte>& bytes, std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto more = std::as_bytes(values);
    bytes.insert(bytes.end(), more.begin(), more.end());
}

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
    append(bytes, std::span<const T>(&value, 1));
}

template <class T>
std::span<const T> all(const ImVector<T>& values) {
    return {values.Data, static_cast<std::size_t>(values.Size)};
}

// Textures that still have to be written before this frame can be drawn have no number yet.
bool uploads_wait(const ImDrawData& data) {
    return data.Textures && std::ranges::any_of(all(*data.Textures), [](const ImTextureData* texture) {
               return texture->Status != ImTextureStatus_OK;
           });
}

}  // namespace

bool Picture::changed(const ImDrawData& data, ImVec4 background) {
    std::swap(bytes_, before_);
    bytes_.clear();
    if (uploads_wait(data)) return true;
    append(bytes_, background);
    append(bytes_, theme_number());
    append(bytes_, context_number());
    append(bytes_, data.DisplaySize);
    append(bytes_, data.FramebufferScale);
    for (const ImDrawList* list : all(data.CmdLists)) {
        append(bytes_, all(list->VtxBuffer));
        append(bytes_, all(list->IdxBuffer));
        append(bytes_, all(list->_CallbacksDataBuf));
        for (const ImDrawCmd& command : list->CmdBuffer) {
            append(bytes_, command.ClipRect);
            append(bytes_, command.UserCallback ? ImTextureID{} : command.GetTexID());
            append(bytes_, command.UserCallback);
            append(bytes_, command.VtxOffset);
            append(bytes_, command.IdxOffset);
            append(bytes_, command.ElemCount);
        }
    }
    return bytes_ != before_;
}

}  // namespace attn::render
