"""The embedded MongoDB server: found, started, shared by all commands of one results folder, stopped.

    with embedded_server(results_root()) as uri:
        store = Store.connect(uri)

`binary.py` finds `mongod`; `folder.py` owns the file names; `users.py` counts who uses the server; `process.py` starts
and stops the process; `replica_set.py` makes it a replica set with a user; `server.py` puts them together.
"""

from search.mongod.binary import find_mongod
from search.mongod.server import EmbeddedServer, embedded_server

__all__ = ["EmbeddedServer", "embedded_server", "find_mongod"]
