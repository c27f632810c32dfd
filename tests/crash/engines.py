"""The three job engines (embedded, Redis, RabbitMQ), each with servers and a data folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash import servers


@dataclass(frozen=True)
class Engine:
    """`roles` says how many processes of each command there are; `kills` is its share of the random ones."""

    name: str
    title: str
    roles: Mapping[str, int]
    kills: int

    @property
    def is_embedded(self) -> bool:
        return "web" in self.roles

    @property
    def worker(self) -> str:
        """The command that runs jobs."""
        return "web" if self.is_embedded else "worker"

    @property
    def beat(self) -> str:
        """The command that makes runs and takes them back."""
        return "web" if self.is_embedded else "beat"

    def missing(self) -> str:
        """Why it cannot be tried on this machine; empty when it can."""
        if self.is_embedded:
            return ""
        if servers.postgres_programs() is None:
            return "no PostgreSQL programs were found"
        if self.name == "redis" and servers.redis_program() is None:
            return "no redis-server was found"
        if self.name == "rabbitmq" and not servers.RabbitMQ.is_possible():
            return "no RabbitMQ answers on which a vhost can be made"
        return ""


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("embedded", "embedded, SQLite", {"web": 1}, kills=100),
        Engine("redis", "Celery, Redis, PostgreSQL", {"worker": 2, "beat": 2}, kills=50),
        Engine("rabbitmq", "Celery, RabbitMQ, PostgreSQL", {"worker": 2, "beat": 2}, kills=50),
    )
}


@dataclass
class Backing:
    """The servers behind a engine, running."""

    environment: dict[str, str] = field(default_factory=dict)
    postgres: servers.Postgres | None = None
    broker: servers.Redis | servers.RabbitMQ | None = None


def opened(engine: Engine, folder: Path, stack: ExitStack) -> Backing:
    """Start what the engine needs; everything ends with the stack."""
    if engine.is_embedded:
        return Backing()
    postgres = servers.Postgres(folder)
    postgres.start()
    stack.callback(postgres.stop, mode="immediate")
    broker = servers.Redis(folder) if engine.name == "redis" else servers.RabbitMQ()
    broker.start()
    stack.callback(broker.stop)
    environment = {"DATABASE_URL": postgres.create("crash"), "CELERY_BROKER_URL": broker.url}
    if engine.name == "redis":
        environment["REDIS_URL"] = broker.url
    return Backing(environment, postgres, broker)
