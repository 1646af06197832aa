"""The command, one of whose actors is ended by Ray itself whenever the command receives SIGUSR1."""

import gc
import signal
import threading

import ray
from ray.actor import ActorHandle

from tiltmeter.jobs.app import main


def end_one():
    ray.kill(next(thing for thing in gc.get_objects() if isinstance(thing, ActorHandle)))


if __name__ == "__main__":
    # Ray is not called from within a handler, which may have interrupted Ray.
    signal.signal(signal.SIGUSR1, lambda *_: threading.Thread(target=end_one).start())
    main()
