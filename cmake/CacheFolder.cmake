# ATTN_CACHE is where tools/serve and tools/test keep what they have fetched.
if(DEFINED ENV{XDG_CACHE_HOME})
    set(ATTN_CACHE $ENV{XDG_CACHE_HOME}/attention-explorer)
else()
    set(ATTN_CACHE $ENV{HOME}/.cache/attention-explorer)
endif()
