"""Lets Debian 13's notebook 6.4 read its kernels' messages in one thread.

Its jupyter_client 8 starts kernels in a thread of their own, whose loop would then read from their sockets: two threads
write to a web socket, which sooner or later tells nothing more (jupyter/jupyter_client#926)."""

from jupyter_client.ioloop import IOLoopKernelManager
from tornado.ioloop import IOLoop

_main = IOLoop.current()
_prepare = IOLoopKernelManager.__init__


def _init(self, *args, **kwargs):
    _prepare(self, *args, **kwargs)
    self.loop = _main


IOLoopKernelManager.__init__ = _init
