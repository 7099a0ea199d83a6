# ATTN_FONTS lists the page's four font files, from Debian's packages or from upstream's releases.
set(ATTN_FONTS)
file(GLOB_RECURSE system_fonts /usr/share/fonts/*.otf /usr/share/fonts/*.ttf)
foreach(font IN ITEMS Inter-Regular.otf Inter-SemiBold.otf JetBrainsMono-Regular.ttf DejaVuSans.ttf)
    set(found ${system_fonts})
    list(FILTER found INCLUDE REGEX "/${font}$")
    list(APPEND ATTN_FONTS ${found})
endforeach()
list(LENGTH ATTN_FONTS count)
if(count LESS 4)
    fetch(inter URL https://github.com/rsms/inter/releases/download/v4.1/Inter-4.1.zip
        URL_HASH SHA256=9883fdd4a49d4fb66bd8177ba6625ef9a64aa45899767dde3d36aa425756b11e)
    fetch(jetbrains_mono URL https://github.com/JetBrains/JetBrainsMono/releases/download/v2.304/JetBrainsMono-2.304.zip
        URL_HASH SHA256=6f6376c6ed2960ea8a963cd7387ec9d76e3f629125bc33d1fdcd7eb7012f7bbf)
    fetch(dejavu URL https://github.com/dejavu-fonts/dejavu-fonts/releases/download/version_2_37/dejavu-fonts-ttf-2.37.zip
        URL_HASH SHA256=7576310b219e04159d35ff61dd4a4ec4cdba4f35c00e002a136f00e96a908b0a)
    set(ATTN_FONTS
        ${inter_SOURCE_DIR}/extras/otf/Inter-Regular.otf ${inter_SOURCE_DIR}/extras/otf/Inter-SemiBold.otf
        ${jetbrains_mono_SOURCE_DIR}/fonts/ttf/JetBrainsMono-Regular.ttf
        ${dejavu_SOURCE_DIR}/ttf/DejaVuSans.ttf)
endif()
