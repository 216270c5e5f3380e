"""`intact manifests`."""

from importlib.metadata import version

import click
import msgspec

from intact.operator.install.manifests import manifests


def show(namespace: str, image: str | None, replicas: int) -> None:
    image = image or f"intact:{version('intact')}"
    objects = manifests(namespace=namespace, image=image, replicas=replicas)
    documents = [msgspec.yaml.encode(each).decode() for each in objects]
    click.echo("---\n".join(documents), nl=False)
