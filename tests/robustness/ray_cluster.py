"""Check that a local Ray cluster of two nodes makes the same corpus as local workers.

Usage: python -m tests.robustness.ray_cluster. It takes about a minute and 1 GB of memory.
"""

import os
import socket
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from paraphrastic_hf.pipelines.executors.registry import run_stages
from paraphrastic_hf.pipelines.make import make_corpus
from paraphrastic_hf.pipelines.recipe import corpus_recipe
from tests.pipelines.acting import Acting
from tests.pipelines.test_make import PAIRS

TASKS = 4


def rows_of(output):
    return [
        row
        for path in sorted(output.glob("*/*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]


def be_patient():
    """Give nodes 300 s to start, instead of Ray's 30 s."""
    from ray._private import services

    ask = services.get_node

    def wait(*arguments):
        until = time.monotonic() + 300
        while True:
            try:
                return ask(*arguments)
            except RuntimeError:
                if time.monotonic() > until:
                    raise
                time.sleep(1)

    services.get_node = wait


def free_ports():
    """Return ports for a node's agents; without them a raylet waits 15 s."""
    names = ("metrics_agent_port", "runtime_env_agent_port", "dashboard_agent_listen_port")
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return {name: each.getsockname()[1] for name, each in zip(names, sockets, strict=True)}


def main():
    import ray
    from ray.cluster_utils import Cluster

    be_patient()
    root = str(Path(__file__).parents[2])
    paths = [root, str(Path(root) / "src")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    node = {"num_cpus": 1, "object_store_memory": 100_000_000}
    cluster = Cluster(
        initialize_head=True, head_node_args={**node, "include_dashboard": False, **free_ports()}
    )
    cluster.add_node(**node, **free_ports())
    ray.init(address=cluster.address, log_to_driver=False)
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = folder / "pairs.tsv"
            path.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
            mapping: dict[str, Any] = {
                "kind": "corpus",
                "data": {"sources": [str(path)]},
                "steps": ["duplicates", {"overlap": {"at_most": 0.6}}],
            }
            make: dict[str, Any] = {"tasks": TASKS, "workers": 2, "memory": 0.2, "block": 40}
            here = make_corpus(corpus_recipe(mapping | {"make": make}), folder / "local")
            far = make | {"executor": "ray", "address": cluster.address}
            there = make_corpus(corpus_recipe(mapping | {"make": far}), folder / "ray")
            assert there.rows == here.rows
            assert rows_of(folder / "ray") == rows_of(folder / "local")
            print(f"ray: {there.rows} rows on two nodes, equal to those of local workers")
            acted = folder / "acted"
            acted.mkdir()
            arguments = corpus_recipe(mapping | {"make": far}).make
            assert run_stages([Acting(acted, "engine-once")], arguments, acted / "logs") == [1]
            assert run_stages([Acting(acted, "engine-once")], arguments, acted / "logs") == []
            begun = [(acted / f"begun-{task}").stat().st_size for task in range(TASKS)]
            assert begun == [1, 2, 1, 1], begun
            print("ray: the next run repeated only the failed task")
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
